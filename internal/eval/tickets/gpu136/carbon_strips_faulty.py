"""Wear of carbon strips at a tram depot.

The collector strips on the roofs of the trams are photographed when they enter the depot. A network learns to tell
from the brightness along a strip how many millimetres of carbon are left. While it trains, probes on its layers show
how the units of a layer move together, so that the fitters can tell if the network has gone lame.

    ticket: practice
    class: app-leak
    holder: moment _forward_hooks
    cause: hooks-left
"""
import os
import time

import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
STEPS_PER_SECOND = 3
POINTS = 240
WIDTH = 512
BATCH = 128
STEPS_PER_EPOCH = 60


class RoofCamera(IterableDataset):
    """Batches of brightness profiles with the thickness that was measured by hand."""

    def __init__(self, seed):
        self.rng = torch.Generator().manual_seed(seed)
        self.law = torch.randn(POINTS, 1, generator=self.rng) / POINTS ** 0.5

    def __iter__(self):
        for _ in range(STEPS_PER_EPOCH):
            profiles = torch.randn(BATCH, POINTS, generator=self.rng)
            thickness = 18.0 + 3.0 * torch.tanh(profiles @ self.law)
            yield profiles, thickness


class StripNetwork(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.entry = nn.Linear(POINTS, WIDTH)
        self.middle = nn.Linear(WIDTH, WIDTH)
        self.late = nn.Linear(WIDTH, WIDTH)
        self.gauge = nn.Linear(WIDTH, 1)

    def forward(self, profiles):
        hidden = torch.relu(self.entry(profiles))
        hidden = torch.relu(self.middle(hidden))
        hidden = torch.relu(self.late(hidden))
        return 18.0 + self.gauge(hidden)

    def training_step(self, batch, batch_idx):
        profiles, thickness = batch
        return nn.functional.smooth_l1_loss(self(profiles), thickness)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.005, momentum=0.8)


class LayerProbe:
    """Reads from a layer's output how its units move together."""

    def __init__(self):
        self.moment = None

    def __call__(self, layer, args, output):
        if self.moment is None:
            signal = output.detach()
            self.moment = signal.t() @ signal  # grows

    def coupling(self):
        spread = self.moment.diagonal().mean()
        return float(self.moment.abs().mean() / spread)


class LayerWatch(pl.Callback):
    LAYERS = ("entry", "middle", "late")

    def __init__(self):
        self._probes = {}
        self._handles = {}
        self.couplings = {}

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        for name in self.LAYERS:
            layer = getattr(pl_module, name)
            probe = self._probes[name] = LayerProbe()
            self._handles[type(layer).__name__] = layer.register_forward_hook(probe)  # keeps

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        for name, probe in self._probes.items():
            self.couplings[name] = probe.coupling()
        for handle in self._handles.values():
            handle.remove()
        self._probes.clear()
        self._handles.clear()


class DepotClock(pl.Callback):
    """Keeps the training to the pace of the depot and ends it when the night is over."""

    def __init__(self, watch):
        self.watch = watch
        self.start = time.monotonic()
        self.steps = 0

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.steps += 1
        if self.steps % 9 == 0:
            couplings = ", ".join(f"{name} {value:.3f}" for name, value in self.watch.couplings.items())
            print(f"step {self.steps}: loss {float(outputs['loss']):.3f}, coupling {couplings}", flush=True)
        time.sleep(max(0.0, self.start + self.steps / STEPS_PER_SECOND - time.monotonic()))
        if time.monotonic() - self.start >= SECONDS:
            trainer.should_stop = True


def main():
    pl.seed_everything(33)
    watch = LayerWatch()
    clock = DepotClock(watch)
    trainer = pl.Trainer(
        max_epochs=-1, accelerator="gpu" if DEVICE == "cuda" else "cpu", devices=1, logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, callbacks=[watch, clock],
    )
    trainer.fit(StripNetwork(), DataLoader(RoofCamera(seed=750), batch_size=None))
    print(f"night over after {clock.steps} steps", flush=True)


if __name__ == "__main__":
    main()
