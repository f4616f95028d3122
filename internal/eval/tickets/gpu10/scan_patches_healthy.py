"""A small network learns to find lesions in volumes of a scanner. Patches are cut out and brought to one scale on the
host, which takes a while. The patches for validation always lie at the same places and are remembered by functools;
those for training lie anywhere, and are cut anew.

ticket: practice
class: none
"""

import functools
import os
import random
import time

import numpy as np
import torch
from torch import nn

SHAPE, EDGE = (80, 160, 160), 40


class Scans:
    """Volumes of grey values, with a lesion in some places."""

    def __init__(self, count=4, seed=0):
        numbers = np.random.default_rng(seed)
        self.volumes, self.lesions = [], []
        for _ in range(count):
            volume = numbers.normal(40, 60, SHAPE).astype(np.int16)
            places = [tuple(int(numbers.integers(8, side - 8)) for side in SHAPE) for _ in range(12)]
            for z, y, x in places:
                volume[z - 4:z + 4, y - 4:y + 4, x - 4:x + 4] += 150
            self.volumes.append(volume)
            self.lesions.append(np.array(places))

    def patch(self, number, z, y, x):
        """A patch with its edges, and whether there is a lesion in it."""
        cut = self.volumes[number][z:z + EDGE, y:y + EDGE, x:x + EDGE].astype(np.float32)
        low, high = np.percentile(cut, (1, 99)).astype(np.float32)
        cut = np.clip((cut - low) / (high - low), 0, 1)
        edges = np.sqrt(sum(slope * slope for slope in np.gradient(cut)))
        inside = ((self.lesions[number] >= (z, y, x)) & (self.lesions[number] < (z + EDGE, y + EDGE, x + EDGE)))
        return np.stack([cut, edges]), float(inside.all(1).any())

    @functools.lru_cache(maxsize=32)
    def fixed_patch(self, *place):
        return self.patch(*place)

    def anywhere(self, count):
        return [(random.randrange(len(self.volumes)), *(random.randint(0, side - EDGE) for side in SHAPE))
                for _ in range(count)]

    def batch(self, places, device, fixed=False):
        cut = self.fixed_patch if fixed else self.patch
        patches, found = zip(*(cut(*place) for place in places))
        return torch.from_numpy(np.stack(patches)).to(device), torch.tensor(found, device=device)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv3d(2, 8, 3, 2), nn.BatchNorm3d(8), nn.ReLU(),
                                  nn.Conv3d(8, 16, 3, 2), nn.BatchNorm3d(16), nn.ReLU(), nn.AdaptiveMaxPool3d(2))
        self.head = nn.Linear(128, 1)

    def forward(self, patches):
        return self.head(self.body(patches).flatten(1))[:, 0]


@torch.no_grad()
def validate(model, scans, places, device):
    model.eval()
    right = 0
    for first in range(0, len(places), 6):
        patches, found = scans.batch(places[first:first + 6], device, fixed=True)
        right += int(((model(patches) > 0) == (found > 0.5)).sum())
    model.train()
    return right / len(places)


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    scans, model, step = Scans(), Detector().to(device), 0
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    fixed = scans.anywhere(24)
    while time.time() < end:
        patches, found = scans.batch(scans.anywhere(random.choice((2, 4, 6))), device)
        loss = nn.functional.binary_cross_entropy_with_logits(model(patches), found)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 20 == 0:
            right = validate(model, scans, fixed, device)
            print("step", step, "loss", round(float(loss), 3), "right", round(right, 3), flush=True)
        time.sleep(random.uniform(0.05, 0.2))


if __name__ == "__main__":
    main()
