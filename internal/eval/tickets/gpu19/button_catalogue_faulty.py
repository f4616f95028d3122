"""A museum has drawers of old buttons, photographed one by one. A vision transformer looks at them in batches; of what
its last layer says, only the first token (the one for the whole picture) is wanted, and put away by the number of the
button. Now and then somebody asks for the buttons most like one. The features are small, but the memory fills up.

ticket: ViCCo-Group/thingsvision#150
class: app-leak
holder: features Extractor extractor
cause: results-kept buffer-without-bound
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

BUTTONS, SIDE, PATCH, WIDTH, HEADS, LAYERS, BATCH = 3000, 96, 8, 192, 4, 3, 12


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.feed = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, x):
        y = self.first(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.feed(self.second(x))  # grows


class Looker(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, PATCH, PATCH)
        self.whole = nn.Parameter(0.02 * torch.randn(1, 1, WIDTH))
        self.places = nn.Parameter(0.02 * torch.randn(1, (SIDE // PATCH) ** 2 + 1, WIDTH))
        self.layers = nn.Sequential(*[Layer() for _ in range(LAYERS)])

    def forward(self, photos):
        x = self.patches(photos).flatten(2).transpose(1, 2)
        x = torch.cat((self.whole.expand(len(x), -1, -1), x), 1) + self.places
        return self.layers(x)


class Extractor:
    """What the first token says, for every button that has been looked at."""

    def __init__(self, looker):
        self.looker, self.features = looker, {}

    @torch.no_grad()
    def extract(self, numbers, photos):
        tokens = self.looker(photos)[:, 0]
        for number, token in zip(numbers, tokens):
            self.features[number] = token  # keeps

    def like(self, number, count=5):
        numbers = list(self.features)
        all_features = F.normalize(torch.stack([self.features[n] for n in numbers]), dim=-1)
        best = (all_features @ F.normalize(self.features[number], dim=-1)).topk(count).indices
        return [numbers[i] for i in best.tolist()]


def photograph(numbers, device):
    """A round button of some colour, with two or four holes, a little differently lit each time."""
    line = torch.linspace(-1, 1, SIDE, device=device)
    rows, columns = torch.meshgrid(line, line, indexing="ij")
    number = torch.tensor(numbers, device=device, dtype=torch.float32)[:, None, None]
    disc = ((rows ** 2 + columns ** 2).sqrt() < 0.5 + 0.4 * torch.sin(number).abs()).float()
    holes = (torch.cos(rows * (6 + number % 7)) * torch.cos(columns * (6 + number % 7)) > 0.95).float()
    photo = (disc * (1 - holes))[:, None] * torch.stack([torch.sin(number * f).abs() for f in (1.1, 2.3, 3.7)], 1)
    return photo + 0.05 * torch.randn(len(numbers), 3, SIDE, SIDE, device=device)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    extractor, batches = Extractor(Looker().to(device).eval()), 0
    drawers = random.sample(range(BUTTONS), BUTTONS)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        start = batches * BATCH % BUTTONS
        numbers = drawers[start:start + BATCH]
        extractor.extract(numbers, photograph(numbers, device))
        batches += 1
        if batches % 15 == 0:
            print("batch", batches, "like", numbers[0], "are", extractor.like(numbers[0]), flush=True)
        time.sleep(random.uniform(0.12, 0.35))


if __name__ == "__main__":
    main()
