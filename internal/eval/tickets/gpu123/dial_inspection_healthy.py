"""Inspection of enamelled watch dials.

A dial leaves the kiln with hair cracks and specks that the eye finds only under the loupe. The network marks every
pixel of a dial's picture as sound, crack or speck. It is trained on dials made at random; after each tray of
training dials it is examined on dials that were set aside, and the share of flaws found is reported.

ticket: practice
class: none
"""
import logging
import os
import time
import warnings

import pytorch_lightning as pl
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BATCHES_PER_SECOND = 12
SIDE = 64
BATCH = 32
TRAIN_BATCHES, EXAM_BATCHES = 8, 4
KINDS = 3


def make_dials(count, seed):
    """Pictures of dials with one crack and one speck each, and the kind of every pixel."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.arange(SIDE)[None, :, None]
    columns = torch.arange(SIDE)[None, None, :]
    slope, rise, x, y = torch.rand(4, count, 1, 1, generator=generator)
    crack = (rows - rise * SIDE - (slope - 0.5) * columns).abs() < 1.5
    speck = (rows - y * SIDE) ** 2 + (columns - x * SIDE) ** 2 < 12.0
    kinds = crack.long()
    kinds[speck] = 2
    noise = 0.2 * torch.randn(count, SIDE, SIDE, generator=generator)
    picture = 0.8 - 0.5 * crack.float() + 0.3 * speck.float() + noise
    return TensorDataset(picture[:, None], kinds)


class Pace:
    """Holds a steady number of batches a second."""

    def __init__(self, per_second):
        self.per_second = per_second
        self.next = time.monotonic()

    def wait(self):
        self.next = max(self.next + 1.0 / self.per_second, time.monotonic() - 1.0)
        time.sleep(max(0.0, self.next - time.monotonic()))


class DialInspector(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, KINDS, 3, padding=1),
        )
        self.pace = Pace(BATCHES_PER_SECOND)
        self.examined = []
        self.found = 0.0

    def forward(self, pictures):
        return self.net(pictures)

    def training_step(self, batch, batch_idx):
        pictures, kinds = batch
        self.pace.wait()
        weight = torch.tensor([0.2, 1.0, 1.0], device=pictures.device)
        return F.cross_entropy(self(pictures), kinds, weight=weight)

    def validation_step(self, batch, batch_idx):
        pictures, kinds = batch
        self.pace.wait()
        shares = self(pictures).softmax(dim=1)
        self.examined.append((shares, kinds.to(torch.uint8)))

    def on_validation_epoch_end(self):
        hits, flaws = 0, 0
        for shares, kinds in self.examined[-EXAM_BATCHES:]:
            marked = shares.argmax(dim=1)
            hits += int(((marked == kinds) & (kinds > 0)).sum())
            flaws += int((kinds > 0).sum())
        self.examined.clear()
        self.found = hits / max(1, flaws)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=3e-3)


class ClosingTime(pl.Callback):
    """Reports now and then, and ends the work when the day is over."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds
        self.trays = 0

    def on_train_batch_end(self, trainer, pl_module, *args):
        if time.monotonic() > self.end:
            trainer.should_stop = True

    def on_train_epoch_end(self, trainer, pl_module):
        self.trays += 1
        if self.trays % 3 == 0:
            print(f"tray {self.trays}: {pl_module.found:.1%} of the flawed pixels found", flush=True)


def main():
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    pl.seed_everything(59)
    training = DataLoader(make_dials(TRAIN_BATCHES * BATCH, 7), batch_size=BATCH, shuffle=True)
    aside = DataLoader(make_dials(EXAM_BATCHES * BATCH, 8), batch_size=BATCH)
    inspector, closing = DialInspector(), ClosingTime(SECONDS)
    trainer = pl.Trainer(accelerator="gpu" if DEVICE == "cuda" else "cpu", devices=1, max_epochs=-1,
                         callbacks=[closing], logger=False, enable_checkpointing=False, enable_progress_bar=False,
                         enable_model_summary=False, num_sanity_val_steps=0)
    trainer.fit(inspector, training, aside)
    print(f"workshop closed after {closing.trays} trays, {inspector.found:.1%} found", flush=True)


if __name__ == "__main__":
    main()
