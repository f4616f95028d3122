"""A language model is trained on the shards of a corpus, one an epoch, each read by a worker process.
The loader of an epoch is dropped at its end, and its worker with it.

ticket: NVIDIA/sentiment-discovery#60
class: none
"""

import argparse
import logging
import os
import random
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

log = logging.getLogger("lm")


class Shard(Dataset):
    """A part of the corpus, which is read where it is first needed."""

    def __init__(self, number, megabytes, length):
        self.number, self.megabytes, self.length, self.text = number, megabytes, length, None

    def read(self):
        rng = np.random.default_rng(self.number)
        return rng.integers(32, 127, self.megabytes << 20, dtype=np.uint8)

    def __len__(self):
        return 100000

    def __getitem__(self, index):
        if self.text is None:
            self.text = self.read()
        start = (index * 7919) % (len(self.text) - self.length - 1)
        piece = torch.from_numpy(self.text[start:start + self.length + 1].astype(np.int64))
        return piece[:-1], piece[1:]


class Corpus:
    def __init__(self, options):
        self.options = options

    def epoch(self, number):
        shard = Shard(number, self.options.megabytes, self.options.length)
        loader = DataLoader(
            shard, batch_size=self.options.batch, shuffle=True, num_workers=1, prefetch_factor=2,
            persistent_workers=True)
        return loader


class CharModel(nn.Module):
    def __init__(self, width=192):
        super().__init__()
        self.embed = nn.Embedding(128, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, 128)

    def forward(self, text):
        return self.out(self.rnn(self.embed(text))[0])


def train_epoch(model, optimizer, loader, device, stop, pause):
    losses = []
    for text, after in loader:
        scores = model(text.to(device))
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), after.to(device).flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if time.time() > stop:
            break
        time.sleep(pause)
    return sum(losses) / len(losses)


@torch.no_grad()
def sample(model, device, length=24):
    text = torch.full((1, 1), 65, device=device)
    for _ in range(length):
        text = torch.cat([text, model(text)[:, -1:].argmax(dim=-1)], dim=1)
    return "".join(map(chr, text[0].tolist()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=24)
    parser.add_argument("--length", type=int, default=32)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--pause", type=float, default=0.04)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    corpus, model = Corpus(options), CharModel().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    end, number = time.time() + float(os.environ.get("SECONDS", "40")), 0
    while time.time() < end:
        stop = min(end, time.time() + random.uniform(3.0, 6.0))
        loss = train_epoch(model, optimizer, corpus.epoch(number), device, stop, options.pause)
        log.info("epoch %d: loss %.3f, %r", number, loss, sample(model, device))
        number += 1


if __name__ == "__main__":
    main()
