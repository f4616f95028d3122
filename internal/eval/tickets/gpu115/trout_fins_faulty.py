"""Grades the fins of trout from pictures under the water.

A small network learns to score fin wear. Beside the score it gives a map of the places it looked at; a reviewer
compares the newest maps with each other, to see that the attention does not jump about.

ticket: practice
class: app-leak
holder: maps
cause: buffer-without-bound results-kept
"""
import logging
import os
import time
import warnings

import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
PICTURE = 64
CHANNELS = 8
BATCH = 16
WINDOW = 6
BATCHES_PER_EPOCH = 20
PAUSE = 0.2


class FinPictures(IterableDataset):
    """Pictures without end, with the wear that a biologist would note."""

    def __init__(self, seed):
        self.seed = seed

    def __iter__(self):
        generator = torch.Generator().manual_seed(self.seed)
        while True:
            wear = torch.rand(1, generator=generator)
            picture = torch.randn(3, PICTURE, PICTURE, generator=generator)
            picture[:, : PICTURE // 4] += 2.0 * wear
            yield picture, wear


class FinGrader(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.look = nn.Conv2d(3, CHANNELS, 5, padding=2)
        self.score = nn.Linear(CHANNELS, 1)

    def forward(self, pictures):
        places = torch.relu(self.look(pictures))  # grows
        return self.score(places.mean(dim=(2, 3))), places

    def training_step(self, batch, batch_idx):
        pictures, wear = batch
        score, places = self(pictures)
        loss = nn.functional.mse_loss(score, wear)
        return {"loss": loss, "places": places.detach()}

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


class AttentionReview(pl.Callback):
    """Looks at the newest maps of the network."""

    def __init__(self, window):
        self.window = window
        self.maps = []
        self.jump = float("nan")

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.maps.append(outputs["places"])  # keeps
        newest = self.maps[-self.window:]
        means = torch.stack([places.mean() for places in newest])
        self.jump = (means.max() - means.min()).item()


class WorkingDay(pl.Callback):
    """Paces the grading and ends it when the day is over."""

    def __init__(self, seconds, review):
        self.seconds = seconds
        self.review = review
        self.began = time.monotonic()
        self.spoken = self.began
        self.batches = 0

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.batches += 1
        now = time.monotonic()
        if now - self.spoken >= 3.0:
            self.spoken = now
            loss = float(outputs["loss"])
            print(f"batch {self.batches}: loss {loss:.4f}, jump {self.review.jump:.5f}", flush=True)
        if now - self.began >= self.seconds:
            trainer.should_stop = True
        time.sleep(PAUSE)


def main():
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    torch.manual_seed(21)
    review = AttentionReview(WINDOW)
    day = WorkingDay(SECONDS, review)
    trainer = pl.Trainer(
        max_epochs=-1,
        accelerator="gpu" if DEVICE == "cuda" else "cpu",
        devices=1,
        limit_train_batches=BATCHES_PER_EPOCH,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[review, day],
    )
    pictures = DataLoader(FinPictures(seed=22), batch_size=BATCH, num_workers=0)
    trainer.fit(FinGrader(), pictures)
    print(f"day over: {day.batches} batches graded", flush=True)


if __name__ == "__main__":
    main()
