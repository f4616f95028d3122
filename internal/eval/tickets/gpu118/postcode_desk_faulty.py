"""Postcode reading desk of a sorting office.

Letter images reach the desk in bursts, whenever a mail bag has been emptied on the belt. One
worker reads each image with a small convolutional network and returns a map of digit scores over the
face of the letter, from which the chute is chosen. Between two bags the desk rests.

ticket: practice
class: app-leak
holder: _on_desk
cause: futures-kept
"""
import os
import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
LETTERS_PER_SECOND = 10
FACE = 168
CHUTES = 10


class DigitScorer(nn.Module):
    """Scores each spot of the letter's face for each of the ten digits."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 8, 5, padding=2), nn.ReLU(),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, CHUTES, 1),
        )

    def forward(self, faces):
        return self.layers(faces).log_softmax(dim=1)


class MailBag:
    """Images of the letters in one bag, made at random."""

    def __init__(self, seed):
        self._chance = random.Random(seed)
        self._random = torch.Generator().manual_seed(seed)

    def size(self):
        return self._chance.randint(17, 23)

    def rest(self):
        return self._chance.uniform(2.0, 5.0)

    def letter(self):
        face = torch.rand(1, 1, FACE, FACE, generator=self._random)
        row = int(torch.randint(0, FACE - 24, (1,), generator=self._random))
        face[:, :, row:row + 24] += 0.5
        return face


class ReadingDesk:
    """Accepts letters, has them read by the worker and counts what lies on the desk."""

    def __init__(self):
        torch.manual_seed(3)
        self._scorer = DigitScorer().to(DEVICE).eval()
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reader")
        self._on_desk = set()
        self.accepted = 0

    def accept(self, face):
        self.accepted += 1
        reading = self._worker.submit(self._read, face)
        self._on_desk.add(reading)  # keeps
        return reading

    def _read(self, face):
        with torch.inference_mode():
            return self._scorer(face.to(DEVICE))  # grows

    def waiting(self):
        return sum(not reading.done() for reading in list(self._on_desk))

    def close(self):
        for reading in list(self._on_desk):
            reading.cancel()
        self._worker.shutdown(wait=True)


class Sorter:
    """Chooses the chute of a letter by the digit that scores best over its face."""

    def __init__(self):
        self.chutes = Counter()

    def place(self, scores):
        digit = scores.mean(dim=(0, 2, 3)).argmax().item()
        spot = scores[0, digit].argmax().item()
        self.chutes[(digit + spot) % CHUTES] += 1


def empty_bag(bag, desk, sorter, end):
    """One burst: put the letters of a bag on the desk, then sort what has been read."""
    readings = []
    for _ in range(bag.size()):
        if time.monotonic() >= end:
            break
        readings.append(desk.accept(bag.letter()))
        time.sleep(1.0 / LETTERS_PER_SECOND)
    for reading in readings:
        sorter.place(reading.result())
    return len(readings)


def main():
    torch.set_num_threads(1)
    desk, sorter, bag = ReadingDesk(), Sorter(), MailBag(seed=21)
    end = time.monotonic() + SECONDS
    bags = 0
    while time.monotonic() < end:
        letters = empty_bag(bag, desk, sorter, end)
        bags += 1
        chute, load = sorter.chutes.most_common(1)[0] if sorter.chutes else (0, 0)
        print(f"bag {bags}: {letters} letters, {desk.waiting()} waiting, fullest chute {chute} with {load}",
              flush=True)
        time.sleep(max(0.0, min(bag.rest(), end - time.monotonic())))
    desk.close()
    print(f"desk closed: {desk.accepted} letters of {bags} bags sorted", flush=True)


if __name__ == "__main__":
    main()
