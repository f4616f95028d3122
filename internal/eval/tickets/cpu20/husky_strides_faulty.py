"""Training of a gait recogniser for sled dogs.

Each husky wears a collar with three axes of acceleration and three of rotation. Short windows of the signal are
sorted into walk, trot, lope and gallop by a small convolutional network. After each short epoch the trainer reports
the accuracy and how far the embeddings of the strides lie apart.

ticket: practice
class: host-growth
holder: _embeddings
cause: results-kept
"""
import os
import time

import torch
from torch import nn
from torch.nn import functional as F

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 8
ROUNDS_PER_EPOCH = 12
WINDOWS, AXES, SAMPLES = 12288, 6, 96
BATCH = 96
WIDTH = 1536
GAITS = ("walk", "trot", "lope", "gallop")


def make_windows(generator):
    """Collar windows whose rhythm depends on the gait."""
    labels = torch.randint(len(GAITS), (WINDOWS,), generator=generator)
    beats = torch.tensor([1.5, 2.6, 3.4, 4.6])[labels]
    moment = torch.linspace(0.0, 6.28, SAMPLES)
    windows = torch.empty(WINDOWS, AXES, SAMPLES)
    for part, beat in zip(windows.split(256), beats.split(256)):
        phase = 6.28 * torch.rand(len(part), AXES, 1, generator=generator)
        part.copy_(torch.sin(beat[:, None, None] * moment + phase))
        part += 0.6 * torch.randn(part.shape, generator=generator)
    return windows, labels


class GaitNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.rhythm = nn.Conv1d(AXES, 16, kernel_size=9, stride=4)
        self.widen = nn.Linear(16 * 22, WIDTH)
        self.head = nn.Linear(WIDTH, len(GAITS))

    def embed(self, windows):
        beat = F.gelu(self.rhythm(windows))
        return torch.tanh(self.widen(beat.flatten(1)))

    def forward(self, windows):
        embedding = self.embed(windows)
        return self.head(embedding), embedding


class EpochReport:
    """Figures of the epoch under way."""

    def __init__(self):
        self._embeddings = []
        self.begin()

    def begin(self):
        self._rounds = 0
        self._right = 0
        self._seen = 0

    def note(self, logits, embedding, labels):
        self._rounds += 1
        self._seen += len(labels)
        self._right += int((logits.argmax(dim=1) == labels).sum())
        unit = F.normalize(embedding.detach(), dim=1)  # grows
        self._embeddings.append(unit)  # keeps

    def complete(self):
        return self._rounds >= ROUNDS_PER_EPOCH

    def accuracy(self):
        return self._right / max(1, self._seen)

    def spread(self):
        """Mean distance of the strides of this epoch from their common centre."""
        if not self._rounds:
            return 0.0
        strides = torch.cat(self._embeddings[-self._rounds:])
        return float((strides - strides.mean(dim=0)).norm(dim=1).mean())


class GaitTrainer:
    def __init__(self, seed):
        torch.manual_seed(seed)
        self._generator = torch.Generator().manual_seed(seed)
        self._windows, self._labels = make_windows(self._generator)
        self._net = GaitNet()
        self._optimizer = torch.optim.SGD(self._net.parameters(), lr=0.02, momentum=0.9)
        self._report = EpochReport()
        self.epoch = 0
        self.line = "no epoch yet"

    def step(self):
        chosen = torch.randint(WINDOWS, (BATCH,), generator=self._generator)
        labels = self._labels[chosen]
        logits, embedding = self._net(self._windows[chosen])
        loss = F.cross_entropy(logits, labels)
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self._optimizer.step()
        self._report.note(logits, embedding, labels)
        if self._report.complete():
            self.finish_epoch(loss.item())

    def finish_epoch(self, loss):
        self.epoch += 1
        self.line = (f"epoch {self.epoch}  loss {loss:.3f}  accuracy {self._report.accuracy():.3f}  "
                     f"spread {self._report.spread():.3f}")
        self._report.begin()


def main():
    torch.set_num_threads(1)
    trainer = GaitTrainer(seed=27)
    start = time.monotonic()
    next_print = 2.0
    rounds = 0
    while (now := time.monotonic() - start) < SECONDS:
        trainer.step()
        rounds += 1
        if now >= next_print:
            print(f"{now:6.1f} s  {trainer.line}", flush=True)
            next_print += 2.0
        time.sleep(max(0.0, rounds / ROUNDS_PER_SECOND - (time.monotonic() - start)))
    print(f"training over: {rounds} rounds, {trainer.line}", flush=True)


if __name__ == "__main__":
    main()
