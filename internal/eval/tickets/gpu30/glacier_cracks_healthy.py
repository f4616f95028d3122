"""A satellite's radar pictures of a glacier come down while it passes. A ground station receives the tiles, a network
marks the cracks in them, and the marks go to a map service over a slow line. The two halves run in one event loop and
are joined by a short queue. If it is full, the receiver asks the satellite's recorder to hold the next tile.

ticket: practice
class: none
"""

import asyncio
import os
import random
import time

import numpy as np
import torch
from torch import nn

SIDE, LOOKS, WIDTH = 256, 2, 8


class CrackNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(LOOKS, WIDTH, 5, stride=4, padding=2), nn.ReLU(),
            nn.Conv2d(WIDTH, WIDTH, 3, padding=1), nn.ReLU(),
            nn.Conv2d(WIDTH, 1, 1),
        )

    def forward(self, tiles):
        return self.layers(tiles).sigmoid()


class Station:
    def __init__(self, model, device, end):
        self.model, self.device, self.end = model, device, end
        self.tiles = asyncio.Queue(maxsize=8)
        self.noise = np.random.default_rng()
        self.received = self.marked = 0

    def tile(self):
        """A radar tile: speckle, with a dark crack across it."""
        picture = self.noise.standard_exponential((LOOKS, SIDE, SIDE), dtype=np.float32)
        row, slope = random.randrange(SIDE), random.uniform(-0.5, 0.5)
        columns = np.arange(SIDE)
        picture[:, (row + slope * columns).astype(int) % SIDE, columns] *= 0.1
        return picture

    async def receive(self):
        while time.time() < self.end:
            for _ in range(random.randint(1, 4)):
                await self.tiles.put((self.received, self.tile()))
                self.received += 1
            await asyncio.sleep(random.uniform(0.05, 0.15))

    @torch.no_grad()
    def cracks(self, picture):
        return (self.model(torch.from_numpy(picture).log1p()[None].to(self.device)) > 0.5).float().mean().item()

    async def publish(self, share):
        """Stands for the request to the map service."""
        await asyncio.sleep(random.uniform(0.08, 0.16))
        self.marked += 1
        if self.marked % 20 == 0:
            print(f"{self.received} tiles received, {self.marked} on the map, cracks {share:.3f}", flush=True)

    async def mark(self):
        while True:
            _, picture = await self.tiles.get()
            await self.publish(self.cracks(picture))

    async def run(self):
        marker = asyncio.create_task(self.mark())
        await self.receive()
        marker.cancel()
        await asyncio.gather(marker, return_exceptions=True)


async def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    station = Station(CrackNet().to(device).eval(), device, end)
    await station.run()
    print(f"pass over, {station.marked} of {station.received} tiles on the map")


if __name__ == "__main__":
    asyncio.run(main())
