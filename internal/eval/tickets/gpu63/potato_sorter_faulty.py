"""Trains, on the belt of a sorting machine, the network that marks the rotten places of potatoes. After each short
stretch of training it is tried on potatoes that it does not learn from; the epoch's end says how much of them it
marks, and how much where it marks most.

ticket: practice
class: host-growth
holder: marked Sorter
cause: results-kept buffer-without-bound
"""

import os
import time
import warnings
from datetime import timedelta

import pytorch_lightning as pl
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

POTATOES, SIDE = 16, 96
TRAINED, TRIED = 16, 6


class Belt(Dataset):
    """Batches of potatoes as they come by, with masks of their rotten places."""

    def __init__(self, batches):
        self.batches = batches
        axis = torch.linspace(-1.0, 1.0, SIDE)
        self.rows, self.columns = torch.meshgrid(axis, axis, indexing="ij")

    def __len__(self):
        return self.batches

    def __getitem__(self, index):
        time.sleep(0.02)
        places = 0.6 * torch.rand(POTATOES, 2, 1, 1) - 0.3
        radius = 0.05 + 0.2 * torch.rand(POTATOES, 1, 1)
        rot = ((self.rows - places[:, 0]) ** 2 + (self.columns - places[:, 1]) ** 2 < radius ** 2).float()
        skin = 0.7 + 0.1 * torch.randn(POTATOES, 3, SIDE, SIDE)
        return skin - 0.4 * rot[:, None], rot[:, None]


class Sorter(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 16, 5, padding=2), nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, 1, 1),
        )
        self.marked = []

    def training_step(self, batch, index):
        images, rot = batch
        return F.binary_cross_entropy_with_logits(self.net(images), rot)

    def validation_step(self, batch, index):
        images, rot = batch
        marks = torch.sigmoid(self.net(images))
        self.marked.append(marks.cpu().numpy())  # grows keeps

    def on_validation_epoch_end(self):
        shares = [float(marks.mean()) for marks in self.marked]
        most = max(range(len(shares)), key=shares.__getitem__)
        if self.current_epoch % 10 == 0:
            mean = sum(shares) / len(shares)
            print(f"epoch {self.current_epoch}: marks {mean:.3f}, at most {shares[most]:.3f}", flush=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-3)


def main():
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", module="pytorch_lightning")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    trainer = pl.Trainer(
        accelerator="gpu" if torch.cuda.is_available() else "cpu",
        devices=1,
        max_epochs=-1,
        max_time=timedelta(seconds=end - time.time()),
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    train = DataLoader(Belt(TRAINED), batch_size=None)
    held_out = DataLoader(Belt(TRIED), batch_size=None)
    trainer.fit(Sorter(), train, held_out)
    print(f"{trainer.global_step} steps", flush=True)


if __name__ == "__main__":
    main()
