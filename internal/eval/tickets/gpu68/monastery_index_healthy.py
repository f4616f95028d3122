"""Compares questions with the embeddings of all passages of a monastery's library. The scores of a batch of questions
go to the host through pinned memory while the next batch is already being scored, and the best passages are taken there
in the order of the batches.

ticket: practice
class: none
"""

import os
import random
import time
from collections import deque
from typing import NamedTuple

import cupy as cp
import cupyx
import numpy as np

PASSAGES, WIDTH, QUESTIONS, BEST = 32_768, 256, 32, 5


class Parcel(NamedTuple):
    batch: int
    scores: np.ndarray
    copied: cp.cuda.Event


class Outbox:
    """The scores on their way to the host."""

    def __init__(self):
        self.parcels = deque()

    def send(self, batch, scores):
        buffer = cupyx.empty_pinned(scores.shape, scores.dtype)
        scores.get(out=buffer, blocking=False)
        copied = cp.cuda.Event()
        copied.record()
        self.parcels.append(Parcel(batch, buffer, copied))

    def arrived(self):
        """The parcels that have come since the last time."""
        while self.parcels and self.parcels[0].copied.done:
            yield self.parcels.popleft()


class Library:
    def __init__(self):
        passages = cp.random.standard_normal((PASSAGES, WIDTH), dtype=cp.float32)
        self.passages = passages / cp.linalg.norm(passages, axis=1, keepdims=True)
        self.mixing = cp.random.standard_normal((WIDTH, WIDTH), dtype=cp.float32) / WIDTH ** 0.5

    def score(self, questions):
        embedded = cp.tanh(cp.asarray(questions) @ self.mixing)
        return embedded @ self.passages.T


def best_passages(scores):
    """The numbers of the best passages for each question."""
    return np.argpartition(scores, -BEST, axis=1)[:, -BEST:]


def questions(generator):
    return generator.standard_normal((QUESTIONS, WIDTH), dtype=np.float32)


def main():
    generator, library, outbox = np.random.default_rng(), Library(), Outbox()
    batch = answered = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for _ in range(random.randint(1, 3)):
            outbox.send(batch, library.score(questions(generator)))
            batch += 1
        for parcel in outbox.arrived():
            found = best_passages(parcel.scores)
            answered += len(found)
            if parcel.batch % 25 == 0:
                print(f"batch {parcel.batch}: {answered} answers, one is {found[0].tolist()}", flush=True)
        time.sleep(random.uniform(0.2, 0.45))


if __name__ == "__main__":
    main()
