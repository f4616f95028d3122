"""Vectors of documents come in and are searched, on the device. The vectors lie in memory set aside at the start; the
marks of all of them for some questions are worked out at once, so that each time a little more memory is asked for.

ticket: practice
class: pool-growth
holder:
cause: outgrown-blocks pool-never-trims
"""

import os
import random
import time

import torch
from torch import nn

WIDTH, CAPACITY, QUESTIONS, BEST = 64, 900_000, 32, 10


class Encoder(nn.Module):
    """Vectors of unit length, of numbers of words."""

    def __init__(self):
        super().__init__()
        self.words = nn.EmbeddingBag(5000, 96)
        self.out = nn.Linear(96, WIDTH)

    def forward(self, words):
        return nn.functional.normalize(self.out(torch.relu(self.words(words))), dim=1)


class Index:
    """All vectors so far, the oldest of which are written over in the end."""

    def __init__(self, device):
        self.vectors = torch.empty(CAPACITY, WIDTH, device=device).fill_(0)
        self.filled = self.place = 0

    def add(self, vectors):
        vectors = vectors[:CAPACITY - self.place]
        self.vectors[self.place:self.place + len(vectors)] = vectors
        self.place = (self.place + len(vectors)) % CAPACITY
        self.filled = max(self.filled, self.place)

    def search(self, questions):
        marks = questions @ self.vectors[:self.filled].T  # grows
        values, which = marks.topk(BEST, dim=1)
        return values, which


@torch.inference_mode()
def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    encoder, index, step = Encoder().to(device).eval(), Index(device), 0
    for _ in range(45):
        index.add(encoder(torch.randint(0, 5000, (2000, 12)).to(device)))
    while time.time() < end:
        index.add(encoder(torch.randint(0, 5000, (random.randint(300, 700), 12)).to(device)))
        for _ in range(random.choice((1, 1, 3))):
            questions = encoder(torch.randint(0, 5000, (QUESTIONS, 5)).to(device))
            values, which = index.search(questions)
            time.sleep(random.uniform(0.03, 0.1))
        step += 1
        if step % 40 == 0:
            print(index.filled, "documents, best", round(float(values[:, 0].mean()), 3),
                  "median place", int(which.median()), flush=True)
            time.sleep(random.uniform(0, 0.5))


if __name__ == "__main__":
    main()
