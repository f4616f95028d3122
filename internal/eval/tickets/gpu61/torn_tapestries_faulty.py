"""A workshop mends photographs of torn tapestries. Museums hand in a photograph with a mask of the tear, get the
number of their order at once and fetch the picture later. A diffusion model paints the tear, and orders take turns on
the device between its steps.

ticket: practice
class: app-leak
holder: orders Workshop
cause: futures-kept results-kept
"""

import asyncio
import itertools
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

SIDE, STEPS = 512, 8
MUSEUMS = "Bayeux", "Angers", "Cluny", "Bruges"


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Conv2d(4, 24, 3, stride=2, padding=1)
        self.middle = nn.Conv2d(24, 24, 3, padding=1)
        self.leave = nn.ConvTranspose2d(24, 3, 4, stride=2, padding=1)

    def forward(self, picture, level):
        levels = torch.full_like(picture[:, :1], level)
        hidden = F.silu(self.enter(torch.cat([picture, levels], dim=1)))
        return self.leave(hidden + F.silu(self.middle(hidden)))


class Workshop:
    def __init__(self, device):
        self.device = device
        self.model = Denoiser().to(device).eval()
        self.numbers = itertools.count(1)
        self.orders = {}

    @torch.no_grad()
    def step(self, picture, photo, mask, level):
        """One step of the model; around the tear the photograph stays, with noise to match."""
        inside = picture - 0.1 * self.model(picture, level)
        outside = photo + level * torch.randn_like(photo)
        return torch.where(mask, inside, outside)  # grows

    async def mend(self, photo, mask):
        photo, mask = photo.to(self.device), mask.to(self.device)
        picture = torch.randn_like(photo)
        for step in range(STEPS):
            picture = self.step(picture, photo, mask, 1 - (step + 1) / STEPS)
            await asyncio.sleep(0.01)
        return picture

    def hand_in(self, photo, mask):
        number = next(self.numbers)
        self.orders[number] = asyncio.create_task(self.mend(photo, mask))  # keeps
        return number

    async def fetch(self, number):
        return await self.orders[number]


def tear():
    mask = torch.zeros(1, 1, SIDE, SIDE, dtype=torch.bool)
    top, left = random.randrange(SIDE - 100), random.randrange(SIDE - 100)
    mask[..., top:top + random.randint(20, 100), left:left + random.randint(20, 100)] = True
    return mask


async def museum(name, workshop, end):
    mended = 0
    while time.time() < end:
        number = workshop.hand_in(torch.rand(1, 3, SIDE, SIDE), tear())
        await asyncio.sleep(random.uniform(0.2, 0.6))
        picture = await workshop.fetch(number)
        mended += 1
        if mended % 10 == 0:
            print(f"{name}: {mended} mended, order {number}, brightness {picture.mean().item():.2f}", flush=True)
        await asyncio.sleep(random.uniform(0.1, 0.4))


async def serve():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    workshop = Workshop(device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    await asyncio.gather(*(museum(name, workshop, end) for name in MUSEUMS))


if __name__ == "__main__":
    torch.set_num_threads(1)
    asyncio.run(serve())
