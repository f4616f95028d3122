"""A counter where collectors hand in small scans of stamps and fetch them four times as large. A scan is enlarged by
one of two threads. A collector gets a ticket at once, comes back with it until the scan is ready, and takes it away.

ticket: practice
class: none
"""

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import torch
from torch import nn

SIDES = (96, 112, 128, 144)
CHANNELS, SCALE, MOST_WAITING = 16, 4, 4


class Enlarger(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, CHANNELS, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(CHANNELS, 3 * SCALE * SCALE, 3, padding=1),
            nn.PixelShuffle(SCALE),
        )
        self.plain = nn.Upsample(scale_factor=SCALE, mode="bilinear", align_corners=False)

    def forward(self, scan):
        return (self.plain(scan) + self.body(scan)).clamp(0, 1)


class Counter:
    """Takes scans in, and gives the large ones out for the tickets."""

    def __init__(self, device):
        self.device = device
        self.model = Enlarger().to(device).eval()
        self.pool = ThreadPoolExecutor(max_workers=2)
        self.tickets = count(1)
        self.jobs = {}

    def hand_in(self, scan):
        ticket = next(self.tickets)
        self.jobs[ticket] = self.pool.submit(self.enlarge, scan)
        return ticket

    def ready(self, ticket):
        return self.jobs[ticket].done()

    def fetch(self, ticket):
        return self.jobs.pop(ticket).result()

    @torch.inference_mode()
    def enlarge(self, scan):
        return self.model(scan.to(self.device)[None])[0]


def sharpness(picture):
    """How strongly neighbours differ, which the collector asks about first."""
    return (picture[:, 1:] - picture[:, :-1]).abs().mean().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    counter, waiting, fetched = Counter(device), [], 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        if len(waiting) < MOST_WAITING:
            waiting.append(counter.hand_in(torch.rand(3, random.choice(SIDES), random.choice(SIDES))))
        for ticket in [ticket for ticket in waiting if counter.ready(ticket)]:
            waiting.remove(ticket)
            picture = counter.fetch(ticket)
            fetched += 1
            if fetched % 20 == 0:
                print(fetched, "fetched, sharpness", round(sharpness(picture), 4), flush=True)
        time.sleep(random.uniform(0.05, 0.2))
    counter.pool.shutdown()


if __name__ == "__main__":
    main()
