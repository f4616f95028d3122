"""Queen cells on photographs of brood frames.

A beekeeper who breeds queens photographs the frames and wants to know how
many days each queen cell has until it hatches. A small network learns this
from patches of the photographs as they come in. Since single steps jump
about, the reported estimate uses the mean of the weights over a few recent
points of training.

ticket: practice
class: app-leak
holder: _snapshots
cause: snapshots-kept
"""

import os
import tempfile
import time
import warnings

import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

torch.set_num_threads(1)
warnings.filterwarnings("ignore", module="pytorch_lightning")

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 1.0 / 6.0
PATCH = 24
BATCH = 128
WIDTH = 784
DAYS = 16.0
EVERY = 2
POINTS = 5


class CellPatches(IterableDataset):
    """Patches around queen cells, as the camera delivers them."""

    def __init__(self, seconds, seed):
        super().__init__()
        self._seconds = seconds
        self._generator = torch.Generator().manual_seed(seed)
        grid = torch.linspace(-1.0, 1.0, PATCH)
        self._radius = grid[:, None] ** 2 + grid[None, :] ** 2

    def batch(self):
        days = torch.rand(BATCH, generator=self._generator) * DAYS
        size = 0.2 + 0.5 * (1.0 - days / DAYS)
        patches = torch.exp(-self._radius[None] / size[:, None, None])
        patches += 0.1 * torch.randn(BATCH, PATCH, PATCH, generator=self._generator)
        return patches.flatten(1), days

    def __iter__(self):
        start = time.monotonic()
        delivered = 0
        while time.monotonic() - start < self._seconds:
            yield self.batch()
            delivered += 1
            time.sleep(max(0.0, start + delivered * ROUND - time.monotonic()))


class HatchModel(pl.LightningModule):
    """Days until a queen hatches, from the patch around her cell."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(PATCH * PATCH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 92), nn.ReLU())
        self.head = nn.Linear(92, 1)

    def forward(self, patches):
        return self.head(self.layers(patches)).squeeze(1)

    def training_step(self, batch, batch_index):
        patches, days = batch
        return ((self(patches) - days / DAYS) ** 2).mean()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=5e-4)


class WeightMean(pl.Callback):
    """Mean of the weights over the most recent points of training."""

    def __init__(self, every, points):
        self.every = every
        self.points = points
        self._snapshots = {}

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_index):
        step = trainer.global_step
        if step % self.every:
            return
        weights = {name: value.detach().clone() for name, value in module.named_parameters()}  # grows
        self._snapshots[step] = weights  # keeps
        self._snapshots.pop(step - self.points, None)

    def recent(self):
        steps = sorted(self._snapshots)[-self.points:]
        return [self._snapshots[step] for step in steps]

    def head_bias(self):
        recent = self.recent()
        return float(sum(weights["head.bias"] for weights in recent)) / len(recent)


class Report(pl.Callback):
    """Prints how the training goes."""

    def __init__(self, mean, every):
        self.mean = mean
        self.every = every

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_index):
        if trainer.global_step % self.every == 0:
            loss = float(outputs["loss"])
            print(f"step {trainer.global_step:4d}  loss {loss:.4f}  bias {self.mean.head_bias():+.4f}", flush=True)


def main():
    pl.seed_everything(81)
    mean = WeightMean(EVERY, POINTS)
    with tempfile.TemporaryDirectory() as folder:
        trainer = pl.Trainer(
            max_epochs=1, accelerator="auto", devices=1, logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder,
            callbacks=[mean, Report(mean, every=18)],
        )
        patches = DataLoader(CellPatches(SECONDS, seed=82), batch_size=None)
        trainer.fit(HatchModel(), patches)
        print(f"breeding season ends after {trainer.global_step} steps", flush=True)


if __name__ == "__main__":
    main()
