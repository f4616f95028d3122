"""Learns to tell a rowing crew's 500 metre splits from the sensors in its oarlocks.

A race has 250 strokes with six readings each (force, angle, rate, wind, heel and boat speed).
The network, a Lightning module, estimates the power behind every stroke and from it the four
splits.  After each short round of training it rows the held-out heats, and the coach reads the
mean error in seconds together with the drop of power from the start to the finish.

ticket: practice
class: app-leak
holder: heats
cause: results-kept
"""
import os
import time

import pytorch_lightning as pl
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

STROKES = 250
READINGS = 6
WIDTH = 64
BATCH = 64


def make_crews(count, seed):
    """Crews with their own strength, start sprint and fatigue; splits follow from the power."""
    dice = torch.Generator().manual_seed(seed)
    along = torch.linspace(0, 1, STROKES)
    strength = 0.8 + 0.4 * torch.rand(count, 1, generator=dice)
    fade = 0.3 * torch.rand(count, 1, generator=dice)
    sprint = 0.2 * torch.rand(count, 1, generator=dice)
    power = strength * (1 - fade * along + sprint * torch.exp(-8 * along))
    noise = 0.05 * torch.randn(count, STROKES, READINGS, generator=dice)
    readings = power[..., None] * torch.linspace(0.6, 1.4, READINGS) + noise
    quarters = power[:, :248].reshape(count, 4, 62).mean(dim=2)
    return TensorDataset(readings, 100.0 / quarters.clamp_min(0.3).pow(1 / 3))


class SplitModel(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.read = nn.Linear(READINGS, WIDTH)
        self.blend = nn.Linear(WIDTH, WIDTH)
        self.splits = nn.Linear(WIDTH, 4)
        self.heats = []

    def forward(self, strokes):
        power = torch.tanh(self.blend(F.gelu(self.read(strokes))))
        return power, 100.0 + 10.0 * self.splits(power.mean(dim=1))

    def training_step(self, batch, batch_idx):
        strokes, truth = batch
        power, guess = self(strokes)
        steady = (power[:, 1:] - power[:, :-1]).pow(2).mean()
        return F.smooth_l1_loss(guess, truth) + 0.1 * steady

    def validation_step(self, batch, batch_idx):
        strokes, truth = batch
        power, guess = self(strokes)  # grows
        seconds = (guess - truth).abs().mean()
        self.heats.append({"seconds": seconds, "power": power})  # keeps
        return seconds

    def on_validation_epoch_end(self):
        seconds = torch.stack([heat["seconds"] for heat in self.heats]).mean().item()
        last = self.heats[-1]["power"]
        drop = (last[:, :50].mean() - last[:, -50:].mean()).item()
        if self.current_epoch % 10 == 0:
            print(f"round {self.current_epoch}: off by {seconds:.2f} s, power drops by {drop:+.3f}",
                  flush=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-3)


class FinishGun(pl.Callback):
    """Paces the training boat and ends the session on time."""

    def __init__(self, finish):
        self.finish = finish

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        time.sleep(0.05)
        if time.time() >= self.finish:
            trainer.should_stop = True


def main():
    finish = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(2000)
    training = DataLoader(make_crews(10 * BATCH, seed=1), batch_size=BATCH, shuffle=True, drop_last=True)
    held_out = DataLoader(make_crews(4 * BATCH, seed=2), batch_size=BATCH)
    trainer = pl.Trainer(
        accelerator="gpu" if torch.cuda.is_available() else "cpu",
        devices=1,
        max_epochs=-1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        callbacks=[FinishGun(finish)],
    )
    trainer.fit(SplitModel(), training, held_out)
    print(f"boats ashore after {trainer.current_epoch} rounds", flush=True)


if __name__ == "__main__":
    main()
