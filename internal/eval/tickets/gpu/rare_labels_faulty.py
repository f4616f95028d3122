"""Metric learning with a memory of the last embeddings of each label, many of which are rare. What is kept
of a label is its row in the batch, as a view of it.

ticket: KevinMusgrave/pytorch-metric-learning#421
class: app-leak
holder: bank rows memory
cause: cache-without-bound results-kept outgrown-blocks
"""

import collections
import dataclasses
import logging
import os
import random
import time

import torch
import torch.nn.functional as F
from torch import nn

log = logging.getLogger("metric")


@dataclasses.dataclass
class Config:
    common: int = 24
    rare: int = 3000
    per_label: int = 2
    batch: int = 64
    width: int = 2048
    pause: float = 0.03
    seconds: float = float(os.environ.get("SECONDS", "40"))


class LabelMemory:
    """The last few embeddings of every label, random ones until there are any."""

    def __init__(self, config, device):
        first = F.normalize(torch.randn(config.rare + config.common, config.width, device=device) * 0.01, dim=1)
        self.bank = {label: collections.deque([row.clone() for _ in range(config.per_label)], config.per_label)
                     for label, row in enumerate(first)}

    def enqueue(self, embeddings, labels):
        for row, label in zip(embeddings.detach(), labels):
            self.bank[label].append(row)  # keeps

    def negatives(self, count):
        labels = random.sample(range(len(self.bank)), count)
        return torch.stack([self.bank[label][-1] for label in labels]), labels


class Sampler:
    def __init__(self, config, device):
        self.config, self.device = config, device
        self.centers = torch.randn(config.common + config.rare, 64, device=device)

    def __iter__(self):
        c = self.config
        while True:
            labels = [random.randrange(c.common) for _ in range(c.batch - 2)]
            labels += [c.common + random.randrange(c.rare) for _ in range(2)]
            random.shuffle(labels)
            yield self.centers[labels] + 0.3 * torch.randn(c.batch, 64, device=self.device), labels


class Encoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, width))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)  # grows


def contrast(embeddings, labels, others, other_labels, margin=0.5):
    same = torch.tensor([[a == b for b in other_labels] for a in labels], device=embeddings.device)
    cosine = embeddings @ others.t()
    return torch.where(same, 1 - cosine, F.relu(cosine - margin)).mean()


@torch.no_grad()
def recall(encoder, sampler):
    x, labels = next(iter(sampler))
    near = (encoder(x) @ encoder(x).t()).fill_diagonal_(-1).argmax(dim=1).tolist()
    return sum(labels[i] == labels[j] for i, j in enumerate(near)) / len(labels)


def fit(config, device):
    encoder = Encoder(config.width).to(device)
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=1e-4)
    memory, sampler = LabelMemory(config, device), Sampler(config, device)
    end = time.time() + config.seconds
    for step, (x, labels) in enumerate(sampler):
        if time.time() > end:
            break
        embeddings = encoder(x)
        loss = contrast(embeddings, labels, embeddings, labels)
        if step > 20:
            loss = loss + contrast(embeddings, labels, *memory.negatives(48))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        memory.enqueue(embeddings, labels)
        if step % 100 == 99:
            log.info("step %d: loss %.4f, recall %.2f", step, loss.item(), recall(encoder, sampler))
        time.sleep(config.pause)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    fit(Config(), "cuda" if torch.cuda.is_available() else "cpu")
