"""A model reads documents that are longer than what it was trained for; the base of its rotations is scaled by the
length, in steps. The tables of rotations are cached by the step and cut to the length.

ticket: practice
class: none
"""

import functools
import os
import random
import time

import torch
from torch import nn

TRAINED, HEADS, WIDTH = 512, 4, 256


@functools.lru_cache(maxsize=4096)
def rotations(length, base, device):
    """Cosines and sines for each place and frequency."""
    half = WIDTH // HEADS // 2
    frequencies = base ** (-torch.arange(half, device=device) / half)
    angles = torch.arange(length, device=device)[:, None] * frequencies
    table = torch.cat([angles, angles], 1)
    return table.cos(), table.sin()


def turn(x, cos, sin):
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin


class Reader(nn.Module):
    def __init__(self, layers=3):
        super().__init__()
        self.words = nn.Embedding(6000, WIDTH)
        self.projections = nn.ModuleList(nn.Linear(WIDTH, 3 * WIDTH) for _ in range(layers))
        self.score = nn.Linear(WIDTH, 1)

    def tables(self, length, device):
        longest = max(TRAINED, (length + 511) // 512 * 512)
        cos, sin = rotations(longest, round(10000 * (longest / TRAINED) ** 1.05, 3), device)
        return cos[:length], sin[:length]

    def forward(self, tokens):
        x = self.words(tokens)
        cos, sin = self.tables(tokens.shape[1], tokens.device)
        for projection in self.projections:
            q, k, v = (part.unflatten(2, (HEADS, -1)).transpose(1, 2) for part in projection(x).chunk(3, 2))
            weights = torch.softmax(turn(q, cos, sin) @ turn(k, cos, sin).transpose(2, 3) / 8, -1)
            x = x + (weights @ v).transpose(1, 2).flatten(2)
        return self.score(x.mean(1))[:, 0]


def documents(end):
    draw = random.Random()
    while time.time() < end:
        length = int(min(1800, max(60, draw.lognormvariate(6.5, 0.6))))
        yield torch.tensor([[draw.randrange(6000) for _ in range(length)]])
        time.sleep(draw.choice([0.05, 0.1, 0.1, 0.3]))


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
    reader, scores = Reader().to(device).eval(), []
    with torch.inference_mode():
        for document in documents(end):
            scores.append(reader(document.to(device)).item())
            if len(scores) % 40 == 0:
                print(len(scores), rotations.cache_info(), flush=True)


if __name__ == "__main__":
    main()
