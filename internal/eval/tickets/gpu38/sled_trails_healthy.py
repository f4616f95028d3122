"""A network is fine-tuned to find the trails of dog sleds on tiles of snow. After each epoch it marks the trails of
the test tiles. How much of a tile is trail, on average and at most, is printed.

ticket: practice
class: none
"""

import os
import random
import time

import pytorch_lightning as pl
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

SIDE, BATCH = 128, 8


class Tiles(Dataset):
    """Snow with a trail across it, read from a slow disk."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        row, slope = random.uniform(20, 100), random.uniform(-0.4, 0.4)
        x, y = torch.arange(SIDE)[None, :], torch.arange(SIDE)[:, None]
        trail = ((y - row - slope * x).abs() < 4).float()[None]
        time.sleep(0.002)
        return 0.8 - 0.3 * trail + 0.2 * torch.randn(1, SIDE, SIDE), trail


class TrailFinder(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(),
            nn.Conv2d(16, 16, 5, padding=4, dilation=2), nn.ReLU(),
            nn.Conv2d(16, 1, 1),
        )
        self.heats = []

    def training_step(self, batch, batch_idx):
        snow, trail = batch
        return F.binary_cross_entropy_with_logits(self.net(snow), trail)

    def validation_step(self, batch, batch_idx):
        snow, _ = batch
        self.heats.append(self.net(snow).sigmoid().cpu())

    def on_validation_epoch_end(self):
        shares = torch.stack([(heat > 0.5).float().mean() for heat in self.heats])
        self.heats.clear()
        if self.current_epoch % 10 == 0:
            mean, most = shares.mean().item(), shares.max().item()
            print(f"epoch {self.current_epoch}: trail {mean:.3f} on average, {most:.3f} at most", flush=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 1e-3)


class StopAt(pl.Callback):
    def __init__(self, end):
        self.end = end

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if time.time() > self.end:
            trainer.should_stop = True


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    trainer = pl.Trainer(
        accelerator="gpu" if torch.cuda.is_available() else "cpu",
        devices=1,
        max_epochs=-1,
        callbacks=[StopAt(end)],
        num_sanity_val_steps=0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    train = DataLoader(Tiles(6 * BATCH), batch_size=BATCH, shuffle=True)
    test = DataLoader(Tiles(5 * BATCH), batch_size=BATCH)
    trainer.fit(TrailFinder(), train, test)
    print("stopped after", trainer.current_epoch, "epochs")


if __name__ == "__main__":
    main()
