"""Finds mangroves in aerial pictures: a small network gives each pixel a probability. After each training epoch it is
tried on validation pictures. The threshold that makes their Dice score best is looked for at the end of the validation,
over the pictures together.

ticket: practice
class: host-growth
holder: scored MangroveModule
cause: results-kept buffer-without-bound
"""

import os
import time

import numpy as np
import pytorch_lightning as pl
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, IterableDataset

SIDE, BATCH = 192, 8


class Coasts(IterableDataset):
    """Pictures of coasts without end: mangroves are the green that lies near the water line."""

    def __iter__(self):
        while True:
            height = F.interpolate(torch.randn(1, 1, 6, 6), size=SIDE, mode="bicubic", align_corners=False)[0, 0]
            mask = (height.abs() < 0.3).float()
            green = 0.3 + 0.4 * mask + 0.3 * (height > 0.8)
            picture = torch.stack([0.3 + 0.1 * height, green, 0.5 - 0.2 * height])
            yield picture + 0.2 * torch.randn(3, SIDE, SIDE), mask


class MangroveModule(pl.LightningModule):
    def __init__(self, width=12):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, width, 5, stride=2, padding=2), nn.ReLU(),
            nn.Conv2d(width, width, 5, padding=2), nn.ReLU(),
            nn.ConvTranspose2d(width, 1, 2, stride=2),
        )
        self.scored = []

    def forward(self, pictures):
        return self.layers(pictures)[:, 0]

    def training_step(self, batch, number):
        pictures, masks = batch
        return F.binary_cross_entropy_with_logits(self(pictures), masks)

    def validation_step(self, batch, number):
        pictures, masks = batch
        chances = torch.sigmoid(self(pictures))
        self.scored.append((chances.cpu().numpy(), masks.cpu().numpy().astype(bool)))  # grows keeps

    def on_validation_epoch_end(self):
        scores = {}
        for threshold in (0.3, 0.4, 0.5, 0.6):
            both = total = 0
            for chances, masks in self.scored:
                found = chances > threshold
                both += np.count_nonzero(found & masks)
                total += np.count_nonzero(found) + np.count_nonzero(masks)
            scores[threshold] = 2 * both / max(total, 1)
        best = max(scores, key=scores.get)
        print(f"epoch {self.current_epoch}: Dice {scores[best]:.3f} at threshold {best}", flush=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-3)


class Deadline(pl.Callback):
    """Lets the other programs of the machine breathe, and stops the training in time."""

    def __init__(self, end):
        self.end = end

    def on_train_batch_end(self, trainer, module, outputs, batch, number):
        time.sleep(0.05)
        if time.time() > self.end:
            trainer.should_stop = True


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    trainer = pl.Trainer(
        accelerator="auto", devices=1, max_epochs=-1, limit_train_batches=10, limit_val_batches=4,
        num_sanity_val_steps=0, callbacks=[Deadline(end)], logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.fit(MangroveModule(), DataLoader(Coasts(), BATCH), DataLoader(Coasts(), BATCH))


if __name__ == "__main__":
    main()
