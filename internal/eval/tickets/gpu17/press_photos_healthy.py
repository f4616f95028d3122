"""Photos come in from news agencies, many of them more than once: cut a little, brighter, or from the next camera. Each
goes through a network; a photo that is much like one of the last few is left out, and what remains is sorted into
desks. It is written as a chain of generators, so nothing has to be in memory at once.

ticket: practice
class: none
"""

import collections
import itertools
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

DESKS = ("sports", "politics", "weather", "culture")
SIDE, WINDOW, ALIKE = 256, 10, 0.97


class Features(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 16, 7, stride=2, padding=3), nn.ReLU(),
                                  nn.Conv2d(16, width, 3, stride=2, padding=1), nn.Tanh())
        self.desk = nn.Linear(width, len(DESKS))

    def forward(self, photos):
        return self.body(photos)


def agencies(device, end):
    """Photos, and now and then one again with small changes."""
    recent = []
    for number in itertools.count(1):
        if time.time() > end:
            return
        if recent and random.random() < 0.25:
            photo = random.choice(recent) * random.uniform(0.98, 1.02)
        else:
            coarse = torch.rand(1, 3, 12, 12, device=device)
            photo = F.interpolate(coarse, size=SIDE, mode="bicubic", align_corners=False)
        recent = (recent + [photo])[-5:]
        yield number, photo + 0.01 * torch.randn_like(photo)
        time.sleep(random.uniform(0.05, 0.3))


def looked_at(photos, model):
    for number, photo in photos:
        with torch.no_grad():
            maps = model(photo)[0]
        yield number, maps


def alike(maps, others):
    """How much two photos have in common, whatever their colours are on the whole."""
    maps, others = (each - each.mean((1, 2), keepdim=True) for each in (maps, others))
    return F.cosine_similarity(maps.flatten(), others.flatten(), dim=0)


def unlike(features):
    """Only those that are not like any of the last ones."""
    seen = collections.deque(maxlen=WINDOW)
    for number, maps in features:
        if any(alike(maps, old) > ALIKE for old in seen):
            continue
        seen.append(maps)
        yield number, maps


def desks(features, model):
    for number, maps in features:
        with torch.no_grad():
            desk = DESKS[int(model.desk(maps.mean((1, 2))).argmax())]
        yield number, desk


def main():
    torch.set_num_threads(1)
    torch.manual_seed(8)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, counts, said = Features().to(device).eval(), dict.fromkeys(DESKS, 0), time.time()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for number, desk in desks(unlike(looked_at(agencies(device, end), model)), model):
        counts[desk] += 1
        if time.time() - said > 2:
            said = time.time()
            print(number, "photos came,", sum(counts.values()), "were new:", counts, flush=True)


if __name__ == "__main__":
    main()
