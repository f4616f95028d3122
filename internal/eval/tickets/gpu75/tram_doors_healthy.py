"""Before a tram leaves, its computer looks whether anybody stands in the doors. For each look there is a record in the
log with the heat map of the four doors, from which the line in the depot's file is written. So that the flash card is
not written to all the time, the records are collected and written together; DOORS_LOG names the file, if there is one.

ticket: practice
class: none
"""

import logging
import os
import random
import time
from logging.handlers import MemoryHandler

import torch
from torch import nn

DOORS, HEIGHT, WIDTH = 4, 192, 320
TOGETHER = 16
NEAR = 0.9


class DoorLine(logging.Formatter):
    """The line of a look: the time, the decision, and the hottest place in each door."""

    def format(self, record):
        hottest = record.heat.reshape(DOORS, -1).max(axis=1)
        places = " ".join(f"{value:.2f}" for value in hottest)
        return f"{self.formatTime(record)} {record.getMessage()} [{places}]"


def open_log(path):
    log = logging.getLogger("doors")
    log.setLevel(logging.INFO)
    log.propagate = False
    buffer = MemoryHandler(TOGETHER, flushLevel=logging.ERROR)
    if path:
        depot = logging.FileHandler(path)
        depot.setFormatter(DoorLine())
        buffer.setTarget(depot)
    else:
        buffer.setTarget(logging.NullHandler())
    log.addHandler(buffer)
    return log


class PeopleFinder(nn.Module):
    """A heat map: how likely it is that somebody stands here."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 12, 5, stride=2, padding=2), nn.ReLU(),
            nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(),
            nn.Conv2d(12, 1, 1),
            nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False),
        )

    def forward(self, pictures):
        return torch.sigmoid(4 * self.layers(pictures)[:, 0])


class Tram:
    def __init__(self, log, device):
        self.log, self.device = log, device
        self.model = PeopleFinder().to(device).eval()
        self.looks = self.waits = 0

    @torch.inference_mode()
    def may_leave(self, pictures, stop):
        heat = self.model(pictures.to(self.device)).cpu().numpy()
        free = bool((heat < NEAR).all())
        self.looks += 1
        self.waits += not free
        self.log.info("stop %d: %s", stop, "leaves" if free else "waits", extra={"heat": heat})
        return free


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tram, stop = Tram(open_log(os.environ.get("DOORS_LOG")), device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for _ in range(random.randint(2, 5)):
            if tram.may_leave(torch.rand(DOORS, 3, HEIGHT, WIDTH), stop):
                break
            time.sleep(0.05)
        stop += 1
        if stop % 20 == 0:
            print(f"{stop} stops, {tram.looks} looks, had to wait {tram.waits} times", flush=True)
        time.sleep(random.uniform(0.05, 0.2))


if __name__ == "__main__":
    main()
