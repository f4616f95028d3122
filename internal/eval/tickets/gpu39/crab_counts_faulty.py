"""A camera on the beach counts the crabs: a network makes a heat map of each frame, and its peaks are crabs. The log
says what was found in each frame, and a page of the station shows the last lines of the log.

ticket: practice
class: host-growth
holder: records Page LogRecord args
cause: log-records-kept buffer-without-bound
"""

import logging
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

SIDE, SHOWN = 320, 5

log = logging.getLogger("beach")


class Page(logging.Handler):
    """Gathers the lines of the log for the page of the station."""

    def __init__(self):
        super().__init__()
        self.records = []

    def emit(self, record):
        self.records.append(record)  # keeps

    def lines(self, count):
        return [record.getMessage().replace("\n", " ") for record in list(self.records)[-count:]]


class Heat(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 12, 5, padding=2), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 1, 1)
        )

    def forward(self, frames):
        return torch.sigmoid(self.layers(frames))[:, 0]


class Counter:
    def __init__(self, device):
        self.device, self.model, self.frames, self.crabs = device, Heat().to(device).eval(), 0, 0

    @torch.inference_mode()
    def count(self, frame):
        heat = self.model(frame[None].to(self.device))
        peaks = (heat == F.max_pool2d(heat, 15, stride=1, padding=7)) & (heat > heat.mean() + 3 * heat.std())
        crabs, heat = int(peaks.sum()), heat[0].cpu().numpy()  # grows
        self.frames += 1
        self.crabs += crabs
        log.info("frame %d: %d crabs, warmest %.3f", self.frames, crabs, heat.max())
        log.debug("frame %d: heat %s", self.frames, heat)


def beach():
    """Sand, with a few crabs that are darker."""
    frame = 0.7 + 0.05 * torch.randn(3, SIDE, SIDE)
    for _ in range(random.randint(0, 6)):
        row, column = random.randrange(SIDE - 12), random.randrange(SIDE - 12)
        frame[:, row:row + 12, column:column + 12] -= 0.4
    return frame


def main():
    torch.set_num_threads(1)
    page = Page()
    log.setLevel(logging.DEBUG)
    log.addHandler(page)
    counter = Counter("cuda" if torch.cuda.is_available() else "cpu")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        counter.count(beach())
        if counter.frames % 40 == 0:
            print("--", counter.crabs, "crabs so far")
            print("\n".join(line[:100] for line in page.lines(SHOWN)), flush=True)
        time.sleep(random.uniform(0.02, 0.06))


if __name__ == "__main__":
    main()
