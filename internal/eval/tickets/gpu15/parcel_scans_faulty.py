"""Parcels on a belt are photographed, and a network tells from the picture which of the gates they have to leave by.
The gate has to be known at once; the picture is packed for the archive afterwards, by a task in the background. The
event loop has no hold on its tasks, so they are put into a set, lest one is collected before it has run.

ticket: BerriAI/litellm#7737
class: host-growth
holder: background
cause: futures-kept results-kept
"""

import asyncio
import hashlib
import os
import random
import time
import zlib

import numpy as np
import torch
from torch import nn

HIGH, WIDE, GATES = 480, 640, 12


class GateNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 16, 7, 4), nn.ReLU(), nn.Conv2d(16, 32, 5, 3), nn.ReLU(),
                                  nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(32 * 16, GATES))

    @torch.no_grad()
    def forward(self, pictures):
        return self.body(pictures.float().div(255).sub(0.5)).argmax(1)


def photograph():
    """A parcel with a label on a belt."""
    belt = np.random.randint(20, 60, (HIGH, WIDE), dtype=np.uint8)
    high, wide = random.randint(120, 400), random.randint(160, 560)
    top, left = random.randint(0, HIGH - high), random.randint(0, WIDE - wide)
    belt[top:top + high, left:left + wide] += np.uint8(90)
    belt[top + 20:top + 50, left + 20:left + 80] = np.random.choice(np.array([30, 230], np.uint8), (30, 60))
    return belt


class Station:
    def __init__(self, device):
        self.device, self.model = device, GateNet().to(device).eval()
        self.background, self.gates, self.archived = set(), [0] * GATES, 0
        self.line = asyncio.Semaphore(3)

    async def pack(self, number, picture):
        """The picture as it goes to the archive, and the sum by which the archive knows it."""
        async with self.line:
            packed = zlib.compress(picture.tobytes(), 1)  # grows
            await asyncio.sleep(random.uniform(0.01, 0.05))
            self.archived += len(packed)
        return number, hashlib.sha256(packed).hexdigest(), packed

    async def parcels(self, first, count):
        pictures = [photograph() for _ in range(count)]
        shown = torch.from_numpy(np.stack(pictures))[:, None].to(self.device)
        for number, (picture, gate) in enumerate(zip(pictures, self.model(shown).tolist()), first):
            self.gates[gate] += 1
            task = asyncio.create_task(self.pack(number, picture))
            self.background.add(task)  # keeps
        return count


async def serve(seconds):
    station = Station("cuda" if torch.cuda.is_available() else "cpu")
    end, seen, said = time.time() + seconds, 0, time.time()
    while time.time() < end:
        seen += await station.parcels(seen, random.choice((1, 2, 4, 6)))
        if time.time() - said > 2:
            said = time.time()
            print(seen, "parcels, gates", station.gates, "archived", station.archived >> 20, "MiB", flush=True)
        await asyncio.sleep(random.uniform(0.05, 0.3))
    await asyncio.gather(*station.background)
    print(seen, "parcels,", station.archived >> 20, "MiB in the archive")


def main():
    torch.set_num_threads(1)
    asyncio.run(serve(float(os.environ.get("SECONDS", "45"))))


if __name__ == "__main__":
    main()
