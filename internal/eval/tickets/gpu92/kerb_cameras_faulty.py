"""Cameras above the kerb of a taxi rank.

Two cameras look down on the rank and deliver a picture several times a second. A small
network on the device counts the cabs in a picture lane by lane, and smooths the counts
with the ones before. The counter has a fixed budget of time for every picture, since the
board with the waiting times and the ticket machine run on the same computer.

ticket: practice
class: host-growth
holder: pictures Queue
cause: unbounded-queue
"""
import asyncio
import os
import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

HEIGHT, WIDTH = 720, 960
LANES = 6
CAMERA_PACE = 0.25
BUDGET = 0.25


@dataclass
class Picture:
    camera: str
    number: int
    taken: float
    pixels: np.ndarray


class Rank:
    """Cabs that come and go, painted as bright boxes on grey asphalt."""

    def __init__(self, seed):
        self.dice = np.random.default_rng(seed)
        self.asphalt = self.dice.integers(60, 90, (HEIGHT, WIDTH, 3), dtype=np.uint8)
        self.cabs = [3] * LANES

    def move(self):
        lane = int(self.dice.integers(LANES))
        self.cabs[lane] = int(np.clip(self.cabs[lane] + self.dice.integers(-1, 2), 0, 8))

    def paint(self):
        pixels = self.asphalt.copy()  # grows
        tall, wide = HEIGHT // LANES, WIDTH // 8
        for lane, cabs in enumerate(self.cabs):
            for place in range(cabs):
                top, left = lane * tall + 20, place * wide + 10
                pixels[top:top + tall - 40, left:left + wide - 20] = (230, 200, 40)
        return pixels


class CabCounter(nn.Module):
    def __init__(self):
        super().__init__()
        self.eye = nn.Sequential(
            nn.Conv2d(3, 8, 7, stride=4, padding=3),
            nn.ReLU(),
            nn.Conv2d(8, 16, 5, stride=4, padding=2),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d((LANES, 8)),
        )
        self.tell = nn.Linear(16, 1)

    def forward(self, pixels):
        scene = pixels.permute(2, 0, 1).unsqueeze(0).float() / 255.0
        cells = self.eye(scene).flatten(2).transpose(1, 2)
        return torch.sigmoid(self.tell(cells)).view(LANES, 8).sum(dim=1)


async def camera(name, seed, pictures):
    rank = Rank(seed)
    number = 0
    while True:
        rank.move()
        number += 1
        await pictures.put(Picture(name, number, time.time(), rank.paint()))  # grows keeps
        await asyncio.sleep(CAMERA_PACE)


async def count_cabs(pictures, board):
    device = board["device"]
    net = CabCounter().to(device).eval()
    while True:
        began = time.time()
        picture = await pictures.get()
        with torch.no_grad():
            cabs = net(torch.from_numpy(picture.pixels).to(device)).cpu()
        before = board["cabs"].get(picture.camera, cabs)
        board["cabs"][picture.camera] = 0.8 * before + 0.2 * cabs
        board["counted"] += 1
        board["latest"] = picture.number
        del picture
        await asyncio.sleep(max(0.0, BUDGET - (time.time() - began)))


async def show(board):
    while True:
        await asyncio.sleep(3)
        lanes = {name: " ".join(f"{c:.1f}" for c in cabs.tolist()) for name, cabs in board["cabs"].items()}
        print(f"{board['counted']} pictures counted, latest number {board['latest']}, lanes {lanes}", flush=True)


async def open_rank(end):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    board = {"device": device, "cabs": {}, "counted": 0, "latest": 0}
    pictures = asyncio.Queue()
    jobs = [
        asyncio.create_task(camera("east", 1, pictures)),
        asyncio.create_task(camera("west", 2, pictures)),
        asyncio.create_task(count_cabs(pictures, board)),
        asyncio.create_task(show(board)),
    ]
    await asyncio.wait(jobs, timeout=max(0.0, end - time.time()), return_when=asyncio.FIRST_EXCEPTION)
    for job in jobs:
        job.cancel()
    for outcome in await asyncio.gather(*jobs, return_exceptions=True):
        if isinstance(outcome, Exception):
            raise outcome


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(4)
    asyncio.run(open_rank(end))


if __name__ == "__main__":
    main()
