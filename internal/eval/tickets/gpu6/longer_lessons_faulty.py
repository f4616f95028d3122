"""A language model learns from texts that get longer with every lesson. The activations of each lesson are larger
than all blocks that the lessons before left in the pool, which keeps them.

ticket: practice
class: pool-growth
holder:
cause: outgrown-blocks pool-never-trims
"""

import dataclasses
import logging
import os
import random
import time

import torch
from torch import nn

log = logging.getLogger("lessons")


@dataclasses.dataclass
class Curriculum:
    first: int = 96
    last: int = 1536
    step: int = 24
    steps: int = 3
    batch: int = 4

    def lessons(self):
        yield from range(self.first, self.last + 1, self.step)
        while True:
            yield self.last


class LanguageModel(nn.Module):
    def __init__(self, words=600, width=128, layers=3):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.layers = nn.ModuleList(nn.GRU(width, width, batch_first=True) for _ in range(layers))
        self.out = nn.Linear(width, words)

    def forward(self, tokens):
        x = self.words(tokens)
        for layer in self.layers:
            x = x + layer(x)[0]
        return self.out(x)


class Teacher:
    def __init__(self, curriculum, device):
        self.curriculum, self.device = curriculum, device
        self.model = LanguageModel().to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)

    def texts(self, length):
        tokens = torch.randint(1, 600, (self.curriculum.batch, length))
        return tokens.to(self.device)

    def step(self, length):
        tokens = self.texts(length)
        logits = self.model(tokens[:, :-1])  # grows
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=0)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def run(self, end):
        for number, length in enumerate(self.curriculum.lessons()):
            for _ in range(self.curriculum.steps):
                if time.time() > end:
                    return
                loss = self.step(length)
                time.sleep(random.uniform(0.1, 0.35))
            if number % 8 == 0:
                log.info("lesson %d: %d words, loss %.3f", number, length, loss)


def main():
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    teacher = Teacher(Curriculum(), "cuda" if torch.cuda.is_available() else "cpu")
    teacher.run(time.time() + float(os.environ.get("SECONDS", "45")))


if __name__ == "__main__":
    main()
