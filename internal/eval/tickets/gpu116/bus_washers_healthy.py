"""Watches the washing lanes of a bus depot.

At each lane a gantry takes pictures of the flanks of a bus as it leaves the brushes. An inspector goes through
the pictures, finds what dirt is left, and sends the bus around once more where it is too much.

ticket: practice
class: none
"""
import asyncio
import os
import time
from dataclasses import dataclass

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
LANES = 3
SIDE = 256
SHOT_EVERY = 0.28
INSPECT_EVERY = 0.2
WAITING_BUSES = 12
DIRT_LIMIT = 0.5375


@dataclass
class Shot:
    bus: int
    lane: int
    flank: torch.Tensor


class Gantry:
    """The cameras over one lane."""

    def __init__(self, lane):
        self.lane = lane
        self.rng = torch.Generator(device=DEVICE).manual_seed(100 + lane)
        self.livery = torch.rand(3, SIDE, SIDE, generator=self.rng, device=DEVICE)

    def shoot(self, bus):
        dirt = torch.rand(1, SIDE, SIDE, generator=self.rng, device=DEVICE)
        flank = self.livery - 0.4 * dirt * (dirt > 0.3 + 0.1 * (bus % 7))
        return Shot(bus, self.lane, flank)


class DirtNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 6, 5, stride=4),
            nn.ReLU(),
            nn.Conv2d(6, 1, 3, stride=2),
        )

    def forward(self, flank):
        return torch.sigmoid(self.layers(flank.unsqueeze(0))).mean()


class WashHall:
    def __init__(self):
        self._arrivals = asyncio.Queue(maxsize=WAITING_BUSES)
        self.net = DirtNet().to(DEVICE).eval()
        self.buses = 0
        self.inspected = 0
        self.again = 0
        self.dirt = 0.5

    async def lane(self, number):
        gantry = Gantry(number)
        await asyncio.sleep(number * SHOT_EVERY / LANES)
        while True:
            self.buses += 1
            await self._arrivals.put(gantry.shoot(self.buses))
            await asyncio.sleep(SHOT_EVERY)

    @torch.no_grad()
    def judge(self, shot):
        dirt = float(self.net(shot.flank))
        self.dirt = 0.95 * self.dirt + 0.05 * dirt
        return dirt > DIRT_LIMIT

    async def inspector(self):
        while True:
            shot = await self._arrivals.get()
            if self.judge(shot):
                self.again += 1
            self.inspected += 1
            del shot
            await asyncio.sleep(INSPECT_EVERY)

    async def board(self):
        await asyncio.sleep(2.0)
        while True:
            print(
                f"{self.inspected} buses inspected, {self.again} around again, dirt {self.dirt:.3f}",
                flush=True,
            )
            await asyncio.sleep(3.0)


async def run_hall():
    hall = WashHall()
    begun = time.monotonic()
    work = [asyncio.create_task(hall.lane(number)) for number in range(LANES)]
    work.append(asyncio.create_task(hall.inspector()))
    work.append(asyncio.create_task(hall.board()))
    left = SECONDS - (time.monotonic() - begun)
    done, _ = await asyncio.wait(work, timeout=max(0.1, left), return_when=asyncio.FIRST_EXCEPTION)
    for task in work:
        task.cancel()
    await asyncio.gather(*work, return_exceptions=True)
    for task in done:
        task.result()
    return hall


def main():
    torch.set_num_threads(1)
    torch.manual_seed(23)
    hall = asyncio.run(run_hall())
    print(f"wash hall closed, {hall.inspected} buses inspected, {hall.again} around again", flush=True)


if __name__ == "__main__":
    main()
