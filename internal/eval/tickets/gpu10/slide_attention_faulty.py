"""Slides of tissue are graded: a small vision transformer reads their tiles, and where it looks is drawn over the slide
for the pathologist. To that end the last layer writes down its attention weights each time, and the drawing takes the
last ones that were written down.

ticket: practice
class: app-leak
holder: maps attention
cause: results-kept buffer-without-bound
"""

import os
import random
import time

import torch
from torch import nn

TILE, PATCH, WIDTH, HEADS, GRADES = 128, 8, 64, 4, 5


class Attention(nn.Module):
    """Attention of patches to each other, which may be looked at afterwards."""

    def __init__(self, watched=False):
        super().__init__()
        self.all, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.watched, self.maps = watched, []

    def forward(self, x):
        batch, count, _ = x.shape
        query, key, value = self.all(x).view(batch, count, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        weights = torch.softmax(query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5, -1)  # grows
        if self.watched:
            self.maps.append(weights)  # keeps
        return self.out((weights @ value).transpose(1, 2).reshape(batch, count, WIDTH))


class Block(nn.Module):
    def __init__(self, watched):
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention(watched)
        self.mix = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.first(x))
        return x + self.mix(self.second(x))


class Grader(nn.Module):
    def __init__(self, layers=3):
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, PATCH, PATCH)
        self.where = nn.Parameter(torch.randn(1, (TILE // PATCH) ** 2, WIDTH) * 0.02)
        self.blocks = nn.Sequential(*[Block(watched=layer == layers - 1) for layer in range(layers)])
        self.grade = nn.Linear(WIDTH, GRADES)

    def forward(self, tiles):
        x = self.patches(tiles).flatten(2).transpose(1, 2) + self.where
        return self.grade(self.blocks(x).mean(1))

    def looked_at(self):
        """How much each patch of the last tiles was looked at."""
        return self.blocks[-1].attention.maps[-1].mean((1, 2))


def slide(device):
    """The tiles of a slide, some at a time."""
    stain = torch.rand(1, 3, 1, 1, device=device)
    for _ in range(random.randint(3, 9)):
        cells = torch.rand(random.choice((1, 2, 3)), 3, TILE, TILE, device=device)
        yield (stain + 0.3 * cells).clamp(0, 1)


@torch.inference_mode()
def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    grader, slides = Grader().to(device).eval(), 0
    while time.time() < end:
        total, hottest, tiles = torch.zeros(GRADES, device=device), 0.0, 0
        for some in slide(device):
            total += grader(some).softmax(1).sum(0)
            hottest = max(hottest, float(grader.looked_at().max()))
            tiles += len(some)
            time.sleep(random.uniform(0.05, 0.15))
        slides += 1
        if slides % 5 == 0:
            print(slides, "slides, the last of", tiles, "tiles has grade", int(total.argmax()), "hottest",
                  round(hottest, 5), flush=True)
        time.sleep(random.uniform(0.05, 0.3))


if __name__ == "__main__":
    main()
