"""Ears of wheat are counted in photos of fields, taken by a drone: a network draws a density, whose sum is the number
of ears. It is written with lightning. What the validation steps find is put together at the end of the validation, for
the error and the worst photo.

ticket: Lightning-AI/pytorch-lightning#14270
class: none
"""

import logging
import os
import random
import time
import warnings
from datetime import timedelta

import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

SIDE, BATCH, PHOTOS = 128, 8, 48
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")


class Field(Dataset):
    """Photos with ears as bright spots, and the density that they have."""

    def __init__(self, photos):
        self.photos = photos
        line = torch.arange(-6, 7).float()
        spot = torch.exp(-(line[:, None] ** 2 + line ** 2) / 8)
        self.spot = (spot / spot.sum())[None, None]

    def __len__(self):
        return self.photos

    def __getitem__(self, index):
        places = (torch.rand(1, SIDE, SIDE) < random.choice((0.001, 0.003, 0.006))).float()
        density = F.conv2d(places[None], self.spot, padding=6)[0]
        return 8 * density + 0.2 * torch.randn(3, SIDE, SIDE), density


class EarCounter(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(nn.Conv2d(3, 16, 5, padding=2), nn.ReLU(), nn.Conv2d(16, 16, 5, padding=2),
                                     nn.ReLU(), nn.Conv2d(16, 1, 3, padding=1), nn.Softplus())
        self.val_results = []

    def forward(self, photos):
        return self.network(photos)

    def training_step(self, batch, batch_idx):
        photos, density = batch
        time.sleep(random.uniform(0.02, 0.12))
        return F.mse_loss(100 * self(photos), 100 * density)

    def validation_step(self, batch, batch_idx):
        photos, density = batch
        found = self(photos)
        error = (found.sum((1, 2, 3)) - density.sum((1, 2, 3))).abs()
        self.val_results.append({"found": found, "photos": photos, "error": error})
        time.sleep(random.uniform(0.02, 0.12))

    def on_validation_epoch_end(self):
        errors = torch.cat([result["error"] for result in self.val_results])
        worst = max(self.val_results, key=lambda result: result["error"].max().item())
        print("validation", len(self.val_results), "batches, error", round(errors.mean().item(), 2), "ears; worst",
              round(worst["found"].sum((1, 2, 3)).max().item(), 1), flush=True)
        self.val_results.clear()

    def transfer_batch_to_device(self, batch, device, dataloader_idx):
        return tuple(part.to(device) for part in batch)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


def main():
    torch.set_num_threads(1)
    seconds = float(os.environ.get("SECONDS", "45"))
    trainer = L.Trainer(max_epochs=-1, max_time=timedelta(seconds=seconds), accelerator="auto", devices=1, logger=False,
                        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
                        num_sanity_val_steps=0)
    trainer.fit(EarCounter(), DataLoader(Field(PHOTOS), batch_size=BATCH, shuffle=True),
                DataLoader(Field(PHOTOS), batch_size=BATCH))


if __name__ == "__main__":
    main()
