"""A job maps flooded land: tiles of a satellite's pictures go to a pool of two threads that tell water from land, and
the job counts how much of the land is under water. All futures are kept in a list to tell how many are done, and each
of them keeps the map that its tile gave.

ticket: practice
class: host-growth
holder: jobs _result
cause: futures-kept results-kept
"""

import os
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn


class WaterNet(nn.Module):
    """A very small U-net over four bands."""

    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(4, 8, 3, stride=2, padding=1), nn.ReLU(),
                                  nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU())
        self.up = nn.Sequential(nn.Upsample(scale_factor=4, mode="bilinear", align_corners=False),
                                nn.Conv2d(16, 1, 1))
        self.skip = nn.Conv2d(4, 1, 1)

    def forward(self, bands):
        return self.up(self.down(bands)) + self.skip(bands)


def scene(number):
    """Red, green, near infrared and height of one tile, with a river through it."""
    side = random.choice((256, 320, 384))
    chance = torch.Generator().manual_seed(number)
    across = torch.linspace(0, 1, side)
    river = 0.5 + 0.2 * torch.sin(6 * across + number)
    wet = torch.exp(-((across[None, :] - river[:, None]) / 0.08) ** 2)
    bands = torch.rand(4, side, side, generator=chance) * 0.2
    bands[1] += 0.3 * wet
    bands[2] += 0.5 * (1 - wet)
    bands[3] += (across[None, :] - river[:, None]).abs()
    return bands


class FloodMapper:
    def __init__(self, threads=2):
        self.net = WaterNet().eval()
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix="tiles")
        self.jobs = []
        self.lock, self.wet, self.all = threading.Lock(), 0, 0

    @torch.inference_mode()
    def segment(self, number):
        water = torch.sigmoid(self.net(scene(number)[None]))[0, 0]  # grows
        with self.lock:
            self.wet += int((water > 0.5).sum())
            self.all += water.numel()
        return number, water

    def submit(self, number):
        self.jobs.append(self.pool.submit(self.segment, number))  # keeps

    def progress(self):
        done = sum(job.done() for job in self.jobs)
        return done, len(self.jobs) - done

    def close(self):
        self.pool.shutdown(wait=True, cancel_futures=True)


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    mapper, number, told = FloodMapper(), 0, time.time()
    while time.time() < end:
        for _ in range(random.choice((1, 2, 2, 5))):
            mapper.submit(number)
            number += 1
        if time.time() - told > 2:
            done, waiting = mapper.progress()
            print(done, "tiles done", waiting, "waiting", round(100 * mapper.wet / max(mapper.all, 1), 1), "% wet",
                  flush=True)
            told = time.time()
        time.sleep(random.uniform(0.1, 0.5))
    mapper.close()


if __name__ == "__main__":
    main()
