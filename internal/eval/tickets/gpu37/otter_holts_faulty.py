"""Learns to tell otters apart in the footage of a river camera. A detector, which is played here by noise around a
face for each otter, follows each otter for as long as it is in the picture, and gives every visit a track number of
its own. An encoder is trained so that two crops of a track agree; the bank has the slow encoder's parts of the tracks,
and the negatives are drawn from it.

ticket: practice
class: app-leak
holder: bank TrackBank parts
cause: cache-without-bound buffer-without-bound
"""

import itertools
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

VISIBLE, SIDE, WIDTH, NEGATIVES, LEAVE = 24, 64, 256, 48, 0.25
TEMPERATURE, MOMENTUM = 0.1, 0.99


class Encoder(nn.Module):
    """Gives a vector of length one for each of the 64 parts of a crop."""

    def __init__(self):
        super().__init__()
        first, second = nn.Conv2d(3, 32, 4, stride=4), nn.Conv2d(32, 64, 2, stride=2)
        self.layers = nn.Sequential(first, nn.GELU(), second, nn.GELU(), nn.Conv2d(64, WIDTH, 1))

    def forward(self, crops):
        return F.normalize(self.layers(crops).flatten(2).transpose(1, 2), dim=-1)


class TrackBank:
    def __init__(self):
        self.parts = {}

    def update(self, tracks, keys):
        for track, key in zip(tracks, keys):
            self.parts[track] = key.clone()  # grows keeps

    def negatives(self, visible):
        others = [track for track in self.parts if track not in visible]
        chosen = random.sample(others, min(NEGATIVES, len(others)))
        return [self.parts[track].mean(dim=0) for track in chosen]


class River:
    """The otters that are in the picture, by track."""

    def __init__(self, device):
        self.device, self.numbers = device, itertools.count()
        self.visible = {}
        self.fill()

    def fill(self):
        while len(self.visible) < VISIBLE:
            self.visible[next(self.numbers)] = torch.randn(3, SIDE, SIDE, device=self.device)

    def move(self):
        self.visible = {track: face for track, face in self.visible.items() if random.random() > LEAVE}
        self.fill()

    def crops(self):
        faces = torch.stack(list(self.visible.values()))
        return faces + 0.3 * torch.randn_like(faces)


def contrast(query, key, negatives):
    query, key = query.mean(dim=1), key.mean(dim=1)
    logits = [(query * key).sum(dim=1, keepdim=True)]
    if negatives:
        logits.append(query @ torch.stack(negatives).T)
    logits = torch.cat(logits, dim=1) / TEMPERATURE
    return F.cross_entropy(logits, torch.zeros(len(query), dtype=torch.long, device=query.device))


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    fast, slow = Encoder().to(device), Encoder().to(device)
    slow.load_state_dict(fast.state_dict())
    optimizer = torch.optim.SGD(fast.parameters(), lr=0.05, momentum=0.9)
    river, bank = River(device), TrackBank()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for step in itertools.count(1):
        if time.time() > end:
            break
        with torch.no_grad():
            keys = slow(river.crops())
        loss = contrast(fast(river.crops()), keys, bank.negatives(river.visible))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for old, new in zip(slow.parameters(), fast.parameters()):
                old.lerp_(new, 1 - MOMENTUM)
        bank.update(river.visible, keys)
        river.move()
        if step % 20 == 0:
            print(f"step {step}: loss {loss.item():.3f}", flush=True)
        time.sleep(random.uniform(0.02, 0.1))


if __name__ == "__main__":
    main()
