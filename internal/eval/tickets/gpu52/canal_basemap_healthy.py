"""Serves the map tiles of a canal to the boats on it. A network paints each tile from its code when it is asked for;
the tiles ahead of the boat are painted in the background, so that they are in the cache when the boat gets there. The
cache holds the latest two dozen.

ticket: practice
class: none
"""

import asyncio
import os
import random
import time
from collections import OrderedDict

import torch
from torch import nn

SIDE, CODE, CACHED = 512, 16, 24
BOATS, AHEAD = 3, 2


class Painter(nn.Module):
    """Paints a tile of 512 x 512 pixels from a code of 64 x 64."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(CODE, 32, 3, padding=1), nn.ReLU(),
            nn.Conv2d(32, 3 * 64, 3, padding=1), nn.PixelShuffle(8), nn.Sigmoid(),
        )

    def forward(self, code):
        return self.layers(code)


class Basemap:
    def __init__(self, painter, device):
        self.painter, self.device = painter, device
        self.tiles = OrderedDict()
        self.prefetches = set()
        self.painted = 0

    @torch.inference_mode()
    def paint(self, place):
        seed = torch.Generator().manual_seed((place[0] * 7919 + place[1]) % 2**31)
        code = torch.randn(1, CODE, SIDE // 8, SIDE // 8, generator=seed).to(self.device)
        picture = self.painter(code)[0].mul(255).byte()
        self.painted += 1
        return picture.permute(1, 2, 0).contiguous().cpu().numpy()

    async def tile(self, place):
        if place not in self.tiles:
            await asyncio.sleep(0.01)
            self.tiles[place] = self.paint(place)
            while len(self.tiles) > CACHED:
                self.tiles.popitem(last=False)
        return self.tiles[place]

    async def serve(self, row, column, heading):
        """The tile of a place; those ahead of it are painted meanwhile."""
        for distance in range(1, AHEAD + 1):
            task = asyncio.create_task(self.tile((row, column + heading * distance)))
            self.prefetches.add(task)
            task.add_done_callback(self.prefetches.discard)
        return await self.tile((row, column))


class Boat:
    def __init__(self, row):
        self.row, self.column = row, random.randrange(1000)
        self.heading = random.choice((-1, 1))
        self.served = 0

    async def cruise(self, basemap, end):
        while time.time() < end:
            picture = await basemap.serve(self.row, self.column, self.heading)
            self.served += picture.nbytes
            self.column += self.heading
            if random.random() < 0.1:
                self.row += random.choice((-1, 1))
            await asyncio.sleep(random.uniform(0.2, 0.4))


async def report(basemap, boats, end):
    while time.time() < end:
        await asyncio.sleep(1.5)
        served = sum(boat.served for boat in boats) / 2**20
        print(f"{basemap.painted} tiles painted, {served:.0f} MiB served", flush=True)


async def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    basemap = Basemap(Painter().to(device).eval(), device)
    boats = [Boat(100 * number) for number in range(BOATS)]
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    await asyncio.gather(report(basemap, boats, end), *(boat.cruise(basemap, end) for boat in boats))


if __name__ == "__main__":
    asyncio.run(main())
