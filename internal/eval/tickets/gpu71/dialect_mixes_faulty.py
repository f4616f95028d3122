"""A classifier learns dialects from radio recordings. The shards on disk have as much of each dialect, but the mixture
that it should see is another one, so clips wait in a shuffle buffer for each dialect and are drawn from there with the
wanted weights. When the buffer of a drawn dialect runs low, the next shard is read.

ticket: practice
class: host-growth
holder: mixer Mixer waiting
cause: unbounded-queue buffer-without-bound
"""

import os
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

WEIGHTS = {"coastal": 0.6, "upland": 0.25, "river": 0.1, "island": 0.05}
SAMPLES, PER_SHARD, BATCH, LOW = 8_000, 16, 32, 8


def read_shard(rng):
    """The clips of a shard, one after another, with their dialects."""
    for _ in range(PER_SHARD):
        for number, dialect in enumerate(WEIGHTS):
            clip = rng.standard_normal(SAMPLES, dtype=np.float32)  # grows
            clip[number :: len(WEIGHTS) + number] += 0.5
            yield dialect, clip


class Mixer:
    """Draws clips with the wanted weights."""

    def __init__(self, rng):
        self.rng = rng
        self.waiting = {dialect: [] for dialect in WEIGHTS}
        self.shards = 0

    def refill(self):
        for dialect, clip in read_shard(self.rng):
            self.waiting[dialect].append(clip)  # keeps
        self.shards += 1

    def draw(self, dialect):
        clips = self.waiting[dialect]
        while len(clips) <= LOW:
            self.refill()
        place = int(self.rng.integers(len(clips)))
        clip = clips[place]
        clips[place] = clips[-1]
        clips.pop()
        return clip

    def batch(self):
        dialects = list(WEIGHTS)
        labels = self.rng.choice(len(dialects), BATCH, p=list(WEIGHTS.values()))
        clips = np.stack([self.draw(dialects[label]) for label in labels])
        return torch.from_numpy(clips), torch.from_numpy(labels)


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.ear = nn.Conv1d(1, 32, 64, stride=16)
        self.middle = nn.Conv1d(32, 64, 8, stride=4)
        self.answer = nn.Linear(64, len(WEIGHTS))

    def forward(self, clips):
        hidden = F.relu(self.ear(clips[:, None]))
        return self.answer(F.relu(self.middle(hidden)).mean(2))


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    mixer, model, steps = Mixer(np.random.default_rng(3)), Listener().to(device), 0
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        clips, labels = mixer.batch()
        loss = F.cross_entropy(model(clips.to(device)), labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps += 1
        if steps % 25 == 0:
            print(f"step {steps}, shard {mixer.shards}, loss {loss.item():.3f}", flush=True)
        time.sleep(0.06)


if __name__ == "__main__":
    main()
