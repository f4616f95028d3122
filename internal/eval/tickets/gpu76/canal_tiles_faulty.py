"""A tile server for a map of canals. The boats ask for tiles; waiting requests are gathered into small batches, a
network paints the depth of the water on the device, and each boat gets its picture. A request that has not been
answered within ten minutes is given up.

ticket: practice
class: host-growth
holder: _scheduled Request request TimerHandle
cause: timers-left callbacks-left
"""

import asyncio
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

TILE, BOATS, BATCH, PATIENCE = 640, 4, 4, 600


class Painter(nn.Module):
    """Paints a tile from soundings on a coarse grid."""

    def __init__(self):
        super().__init__()
        self.coarse = nn.Conv2d(2, 16, 3, padding=1)
        self.colours = nn.Conv2d(16, 3, 1)

    def forward(self, soundings):
        hidden = F.relu(self.coarse(soundings))
        return torch.sigmoid(F.interpolate(self.colours(hidden), size=(TILE, TILE), mode="bilinear"))


class Request:
    def __init__(self, x, y):
        self.x, self.y = x, y
        self.answer = asyncio.get_running_loop().create_future()

    def expire(self):
        if not self.answer.done():
            self.answer.set_exception(TimeoutError(f"no tile {self.x}, {self.y}"))


class Server:
    def __init__(self, device):
        self.device, self.painter = device, Painter().to(device).eval()
        self.waiting, self.painted = asyncio.Queue(maxsize=16), 0

    async def tile(self, x, y):
        request = Request(x, y)
        asyncio.get_running_loop().call_later(PATIENCE, request.expire)  # keeps
        await self.waiting.put(request)
        return await request.answer

    @torch.no_grad()
    def paint(self, requests):
        places = torch.tensor([[request.x, request.y] for request in requests], dtype=torch.float32)
        grid = torch.linspace(0, 1, 40)
        soundings = torch.stack([
            torch.stack([torch.sin(x + grid)[:, None].expand(40, 40), torch.cos(y + grid).expand(40, 40)])
            for x, y in places
        ])
        pictures = self.painter(soundings.to(self.device)).mul(255).byte()
        return [picture.cpu().numpy().copy() for picture in pictures]  # grows

    async def serve(self):
        while True:
            requests = [await self.waiting.get()]
            while len(requests) < BATCH and not self.waiting.empty():
                requests.append(self.waiting.get_nowait())
            for request, picture in zip(requests, self.paint(requests)):
                request.answer.set_result(picture)
            self.painted += len(requests)


async def boat(server, end):
    """A boat asks for the tile it is on, looks at it and sails on."""
    x, y = random.uniform(0, 90), random.uniform(0, 90)
    while time.time() < end:
        picture = await server.tile(x, y)
        x, y = x + random.uniform(-1, 1), y + picture.mean() / 255 - 0.5
        await asyncio.sleep(random.uniform(0.2, 0.5))


async def main():
    torch.set_num_threads(1)
    server = Server("cuda" if torch.cuda.is_available() else "cpu")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    serving = asyncio.create_task(server.serve())
    boats = [asyncio.create_task(boat(server, end)) for _ in range(BOATS)]
    while time.time() < end:
        await asyncio.sleep(2)
        print(server.painted, "tiles painted,", server.waiting.qsize(), "wait", flush=True)
    await asyncio.gather(*boats)
    serving.cancel()


if __name__ == "__main__":
    asyncio.run(main())
