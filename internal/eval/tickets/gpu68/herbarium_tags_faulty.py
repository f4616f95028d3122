"""Learns to tag the words on the labels of a herbarium (collector, place, species, ...) while they come in from the
scanner. After every few batches the tagger is tried on other labels, and the share of right tags is printed.

ticket: practice
class: host-growth
holder: tried Tagger
cause: results-kept buffer-without-bound
"""

import os
import random
import time

import pytorch_lightning as pl
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, IterableDataset

WORDS, TAGS, BATCH, LENGTH = 5_000, 240, 32, 32


class Labels(IterableDataset):
    def __init__(self, pause):
        self.pause = pause

    def __iter__(self):
        while True:
            time.sleep(random.uniform(0, self.pause))
            words = torch.randint(WORDS, (BATCH, LENGTH))
            yield words, words % TAGS


class Tagger(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, 96)
        self.reader = nn.LSTM(96, 96, batch_first=True, bidirectional=True)
        self.tags = nn.Linear(192, TAGS)
        self.tried, self.rounds = [], 0

    def forward(self, words):
        hidden, _ = self.reader(self.words(words))
        return self.tags(hidden)

    def training_step(self, batch, index):
        words, tags = batch
        return F.cross_entropy(self(words).flatten(0, 1), tags.flatten())

    def validation_step(self, batch, index):
        words, tags = batch
        self.tried.append((self(words).cpu(), tags.cpu()))  # grows keeps

    def on_validation_epoch_end(self):
        right = [(scores.argmax(dim=-1) == tags).float().mean().item() for scores, tags in self.tried]
        self.rounds += 1
        if self.rounds % 5 == 0:
            print(f"round {self.rounds}: {sum(right) / len(right):.3f} of the tags are right", flush=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


class Closing(pl.Callback):
    def __init__(self, end):
        self.end = end

    def on_train_batch_end(self, trainer, module, outputs, batch, index):
        trainer.should_stop = time.time() > self.end


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    trainer = pl.Trainer(
        accelerator="gpu" if torch.cuda.is_available() else "cpu",
        devices=1,
        max_epochs=-1,
        limit_train_batches=6,
        limit_val_batches=4,
        num_sanity_val_steps=0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[Closing(end)],
    )
    trainer.fit(Tagger(), DataLoader(Labels(0.12), batch_size=None), DataLoader(Labels(0.02), batch_size=None))


if __name__ == "__main__":
    main()
