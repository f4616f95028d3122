"""Sorting of cullet for a stained glass studio.

Broken glass comes in by the barrel and is sorted by colour from its transmission spectrum. An encoder turns a
spectrum into a palette code, and a small head names the colour. At the end of each barrel the mean palette is
printed, by which the studio sees how the supply changes.

ticket: practice
class: none
"""
import logging
import os
import time
import warnings
from datetime import timedelta

import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
ROUNDS_PER_SECOND = 6
BANDS = 401
PALETTE = 640
PIECES = 384
BATCHES_A_BARREL = 15
COLOURS = ("cobalt", "copper ruby", "gold pink", "selenium orange", "silver stain", "moss", "turquoise", "smoke")


class Barrels(IterableDataset):
    """Spectra of the pieces in one barrel after another, as they come off the belt."""

    def __init__(self, seed):
        super().__init__()
        self.generator = torch.Generator().manual_seed(seed)
        band = torch.linspace(0, 1, BANDS)
        peaks = torch.linspace(0.08, 0.92, len(COLOURS)).unsqueeze(1)
        self.curves = torch.exp(-((band - peaks) / 0.09) ** 2)

    def __iter__(self):
        for _ in range(BATCHES_A_BARREL):
            time.sleep(1 / ROUNDS_PER_SECOND)
            colours = torch.randint(len(COLOURS), (PIECES,), generator=self.generator)
            thickness = 0.5 + torch.rand(PIECES, 1, generator=self.generator)
            noise = torch.randn(PIECES, BANDS, generator=self.generator)
            yield self.curves[colours].pow(thickness) + 0.1 * noise, colours

    def __len__(self):
        return BATCHES_A_BARREL


class Sorter(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(BANDS, 256), nn.ReLU(), nn.Linear(256, PALETTE))
        self.head = nn.Linear(PALETTE, len(COLOURS))
        self.register_buffer("samples", torch.rand(16_000, PALETTE), persistent=False)
        self._palettes = []
        self.right = 0.0

    def training_step(self, batch, batch_idx):
        spectra, colours = batch
        palette = self.encoder(spectra)
        scores = self.head(torch.relu(palette))
        self.right += 0.1 * ((scores.argmax(dim=1) == colours).float().mean().item() - self.right)
        self._palettes.append(palette.detach())
        return nn.functional.cross_entropy(scores, colours)

    def nearest_sample(self, palette):
        return int((self.samples - palette).square().sum(dim=1).argmin())

    def on_train_epoch_end(self):
        mean = torch.stack([palette.mean(dim=0) for palette in self._palettes]).mean(dim=0)
        self._palettes.clear()
        spread = mean.std().item()
        print(f"barrel {self.current_epoch:3d}  named right {self.right:.3f}  palette spread {spread:.3f}  "
              f"nearest sample {self.nearest_sample(mean)}", flush=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


class Belt(pl.Callback):
    """Counts the pieces that have passed."""

    def __init__(self):
        self.pieces = 0

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.pieces += len(batch[1])


def main():
    warnings.filterwarnings("ignore")
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    torch.manual_seed(1140)
    belt = Belt()
    sorter = Sorter()
    trainer = pl.Trainer(
        accelerator="gpu" if DEVICE == "cuda" else "cpu",
        devices=1,
        max_epochs=-1,
        max_time=timedelta(seconds=SECONDS),
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[belt],
    )
    trainer.fit(sorter, DataLoader(Barrels(seed=9), batch_size=None))
    print(f"belt stopped after {belt.pieces} pieces, named right {sorter.right:.3f}", flush=True)


if __name__ == "__main__":
    main()
