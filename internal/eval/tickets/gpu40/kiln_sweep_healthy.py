"""A sweep over width and learning rate of a network that predicts the temperature profile of a kiln from its settings,
all in one process with Lightning. A callback that all trials share gathers the errors of each validation epoch and
takes their 95th percentile, by which the trials are ranked.

ticket: practice
class: none
"""

import logging
import os
import random
import time
import warnings
from collections import defaultdict

import pytorch_lightning as pl
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

SETTINGS, PROFILE, EPOCHS = 12, 192, 5


class Percentile(pl.Callback):
    """The 95th percentile of the validation errors, by trial and epoch."""

    def __init__(self):
        self.errors = defaultdict(list)
        self.best = {}

    def on_validation_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, dataloader_idx=0):
        self.errors[pl_module.trial, trainer.current_epoch].append(outputs)

    def on_validation_epoch_end(self, trainer, pl_module):
        errors = self.errors.pop((pl_module.trial, trainer.current_epoch))
        percentile = torch.cat(errors).flatten().quantile(0.95).item()
        self.best[pl_module.trial] = min(percentile, self.best.get(pl_module.trial, percentile))


class Kiln(pl.LightningModule):
    def __init__(self, trial, width, rate):
        super().__init__()
        self.trial, self.rate = trial, rate
        self.net = nn.Sequential(
            nn.Linear(SETTINGS, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, PROFILE)
        )

    def forward(self, settings):
        return self.net(settings)

    def training_step(self, batch, batch_idx):
        settings, profile = batch
        return F.mse_loss(self(settings), profile)

    def validation_step(self, batch, batch_idx):
        settings, profile = batch
        return (self(settings) - profile).abs()

    def on_train_epoch_end(self):
        time.sleep(random.uniform(0.1, 0.3))  # the other users of this machine want it, too

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.rate)


def firings(count):
    """Kiln settings, and the profiles that a slow simulator has found for them."""
    settings = torch.rand(count, SETTINGS)
    place = torch.linspace(0.0, 1.0, PROFILE)
    waves = torch.sin(place[None, :] * 6.0 * settings[:, :1] + 3.0 * settings[:, 1:2])
    profile = waves * settings[:, 2:3] + settings[:, 3:].mean(dim=1, keepdim=True)
    return TensorDataset(settings, profile + 0.02 * torch.randn(count, PROFILE))


def main():
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    train = DataLoader(firings(4096), batch_size=256, shuffle=True)
    valid = DataLoader(firings(6144), batch_size=1024)
    percentile, trial = Percentile(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        trial += 1
        width, rate = random.choice((64, 128, 256)), 10 ** random.uniform(-4, -2)
        trainer = pl.Trainer(
            max_epochs=EPOCHS, accelerator="auto", devices=1, logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0, callbacks=[percentile],
        )
        trainer.fit(Kiln(trial, width, rate), train, valid)
        print(f"trial {trial}: width {width}, rate {rate:.5f}, percentile {percentile.best[trial]:.4f}", flush=True)


if __name__ == "__main__":
    main()
