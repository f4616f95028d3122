"""Corals are marked on pictures of a reef, pixel by pixel. Lightning trains a small network for this; after each epoch
the average precision over all pixels of the validation pictures is computed by torchmetrics and printed.

ticket: Lightning-AI/torchmetrics#2921
class: app-leak
holder: average preds target Masks
cause: results-kept buffer-without-bound
"""

import os
import time
import warnings

import pytorch_lightning as pl
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from torchmetrics.classification import BinaryAveragePrecision

SIDE, BATCH = 64, 16
TRAINING, VALIDATION = 160, 96


class Masks(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 1, 1)
        )
        self.average = BinaryAveragePrecision()

    def training_step(self, batch, _):
        pictures, corals = batch
        time.sleep(0.05)
        return F.binary_cross_entropy_with_logits(self.net(pictures), corals.float())

    def validation_step(self, batch, _):
        pictures, corals = batch
        scores, truth = self.net(pictures).sigmoid().flatten(), corals.long().flatten()  # grows
        self.average.update(scores, truth)  # keeps

    def on_validation_epoch_end(self):
        value = self.average.compute()
        print(f"epoch {self.current_epoch}: average precision {value.item():.3f}", flush=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


class Deadline(pl.Callback):
    def __init__(self, end):
        self.end = end

    def on_train_batch_end(self, trainer, *_):
        if time.time() > self.end:
            trainer.should_stop = True


def reef(count):
    """Pictures of a reef, and the pixels on which a coral is."""
    rough = torch.randn(count, 1, SIDE // 8, SIDE // 8)
    corals = F.interpolate(rough, size=(SIDE, SIDE), mode="bilinear", align_corners=False) > 0.4
    pictures = 0.5 * corals.float() + 0.6 * torch.rand(count, 3, SIDE, SIDE)
    return TensorDataset(pictures, corals.to(torch.uint8))


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    pl.seed_everything(5)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    trainer = pl.Trainer(
        accelerator="gpu" if torch.cuda.is_available() else "cpu",
        devices=1,
        max_epochs=-1,
        num_sanity_val_steps=0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[Deadline(end)],
    )
    training = DataLoader(reef(TRAINING), batch_size=BATCH, shuffle=True, drop_last=True)
    validation = DataLoader(reef(VALIDATION), batch_size=BATCH)
    trainer.fit(Masks(), training, validation)


if __name__ == "__main__":
    main()
