"""Trains a small network that finds kelp in pictures taken from a boat, with Lightning. After each short epoch the
area under the ROC curve over all the pixels of the validation pictures is computed and printed.

ticket: practice
class: none
"""

import logging
import os
import time
import warnings

import pytorch_lightning as pl
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from torchmetrics.classification import BinaryAUROC

SIDE, BATCH, TRAIN, VALID = 128, 8, 40, 16


class KelpFinder(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(
            nn.Conv2d(3, 16, 5, padding=2),
            nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=2, dilation=2),
            nn.ReLU(),
            nn.Conv2d(16, 1, 1),
        )
        self.auroc = BinaryAUROC()

    def training_step(self, batch, number):
        pictures, masks = batch
        time.sleep(0.08)
        return F.binary_cross_entropy_with_logits(self.network(pictures), masks)

    def validation_step(self, batch, number):
        pictures, masks = batch
        logits = self.network(pictures)
        kelp = masks.long()
        self.auroc.update(logits, kelp)
        self.log("val_loss", F.binary_cross_entropy_with_logits(logits, masks))

    def on_validation_epoch_end(self):
        self.log("val_auroc", self.auroc.compute())
        self.auroc.reset()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


class Clock(pl.Callback):
    """Prints the epochs, and stops the training when its time is over."""

    def __init__(self, end):
        self.end = end

    def on_train_epoch_end(self, trainer, module):
        if trainer.current_epoch % 10 == 0:
            values = {name: round(float(value), 4) for name, value in trainer.callback_metrics.items()}
            print("epoch", trainer.current_epoch, values, flush=True)
        if time.time() > self.end:
            trainer.should_stop = True


def sea(count):
    """Pictures of the sea, with dark bands of kelp under them."""
    rows = torch.linspace(0, 9, SIDE)
    phases = 6.28 * torch.rand(count, 1, 1, 1)
    kelp = torch.sin(rows[:, None] + phases) * torch.cos(0.7 * rows + 2 * phases)
    masks = (kelp > 0.4).float()
    return TensorDataset(0.3 * torch.randn(count, 3, SIDE, SIDE) + 0.5 - 0.4 * masks, masks)


def main():
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    trainer = pl.Trainer(
        accelerator="auto",
        devices=1,
        max_epochs=-1,
        num_sanity_val_steps=0,
        callbacks=[Clock(end)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    training = DataLoader(sea(TRAIN), batch_size=BATCH, shuffle=True)
    validation = DataLoader(sea(VALID), batch_size=BATCH)
    trainer.fit(KelpFinder(), training, validation)


if __name__ == "__main__":
    main()
