"""Photo booths at a fair. A guest takes a few portraits, and a small network softens them. A guest's pictures are made
in a memory pool of the guest, so that one who asks for huge prints cannot tear holes into the memory of the others.

ticket: practice
class: pool-growth
holder: pools Studio MemPool
cause: pool-never-trims driver-memory-kept
"""

import contextlib
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

BOOTHS = 4
SIZES = (384, 512), (512, 512), (512, 640)


class Soften(nn.Module):
    def __init__(self):
        super().__init__()
        self.inward = nn.Conv2d(3, 8, 5, padding=2)
        self.outward = nn.Conv2d(8, 3, 3, padding=1)

    def forward(self, picture):
        half = F.avg_pool2d(picture, 2)
        change = self.outward(F.relu(self.inward(half)))
        change = F.interpolate(change, scale_factor=2.0, mode="bilinear", align_corners=False)
        return (picture + 0.1 * change).clamp(0, 1)


class Studio:
    def __init__(self, device):
        self.device, self.pools = device, {}
        self.model = Soften().to(device).eval()

    def room(self, owner):
        """The memory in which the pictures of this owner are made."""
        if self.device == "cpu":
            return contextlib.nullcontext()
        if owner not in self.pools:
            self.pools[owner] = torch.cuda.MemPool()  # keeps
        return torch.cuda.use_mem_pool(self.pools[owner])

    @torch.inference_mode()
    def portrait(self, booth, guest, size):
        with self.room(guest):
            picture = torch.rand(1, 3, *size, device=self.device)  # grows
            soft = self.model(picture)  # grows
            return soft.mean().item(), (soft - picture).abs().mean().item()


def warm_up(studio):
    with torch.inference_mode():
        for size in SIZES:
            studio.model(torch.rand(1, 3, *size, device=studio.device))


def main():
    torch.set_num_threads(1)
    studio = Studio("cuda" if torch.cuda.is_available() else "cpu")
    warm_up(studio)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    guests = list(range(1, BOOTHS + 1))  # who sits in which booth
    came, made = BOOTHS, 0
    while time.time() < end:
        booth = random.randrange(BOOTHS)
        light, change = studio.portrait(booth, guests[booth], random.choice(SIZES))
        made += 1
        if random.random() < 0.1:
            came += 1
            guests[booth] = came
        if made % 25 == 0:
            print(f"{made} portraits of {came} guests, light {light:.2f}, change {change:.3f}", flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
