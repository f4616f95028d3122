"""A camera looks at the grain on the sieves of a mill, and a network marks broken kernels. The log on the screen is
short, but a flight recorder takes the debug records too, with the masks: if a stage fails, it writes what led up to
it into one summary and starts afresh.

ticket: practice
class: host-growth
holder: records FlightRecorder LogRecord args masks
cause: log-records-kept buffer-without-bound
"""

import logging
import os
import random
import time
from abc import ABC, abstractmethod
from collections import deque

import torch
from torch import nn

SIEVES, SIZE = 4, 320

log = logging.getLogger("mill")


class FlightRecorder(logging.Handler):
    """Holds the latest records and reports them when something goes wrong."""

    def __init__(self, target):
        super().__init__(logging.DEBUG)
        self.target = target
        self.records = deque()

    def emit(self, record):
        self.records.append(record)  # keeps
        if record.levelno >= logging.ERROR:
            for earlier in self.records:
                self.target.handle(earlier)
            self.records.clear()


class Stage(ABC):
    @abstractmethod
    def run(self, frame):
        """Adds to the frame, a dictionary."""


class Camera(Stage):
    def __init__(self, device):
        self.device = device

    def run(self, frame):
        frame["pictures"] = torch.rand(SIEVES, 3, SIZE, SIZE, device=self.device)


class Marker(Stage):
    def __init__(self, device):
        layers = nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU(), nn.ConvTranspose2d(8, 1, 2, stride=2), nn.Sigmoid()
        self.net = nn.Sequential(*layers).to(device).eval()

    @torch.no_grad()
    def run(self, frame):
        masks = self.net(frame["pictures"]).squeeze(1)
        frame["broken"] = (masks > 0.5).float().mean(dim=(1, 2)).tolist()
        log.debug("frame %d: masks %s", frame["number"], masks.cpu().numpy())  # grows


class Gate(Stage):
    limit = 0.9

    def run(self, frame):
        frame["open"] = [share < self.limit for share in frame["broken"]]
        log.debug("frame %d: gates %s", frame["number"], frame["open"])


class Pipeline:
    def __init__(self, *stages):
        self.stages = stages

    def run(self, number):
        frame = {"number": number}
        for stage in self.stages:
            try:
                stage.run(frame)
            except (OSError, ValueError):
                log.exception("frame %d: %s failed", number, type(stage).__name__)
                break
        return frame


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    screen = logging.StreamHandler()
    screen.setLevel(logging.INFO)
    log.setLevel(logging.DEBUG)
    log.addHandler(screen)
    log.addHandler(FlightRecorder(screen))
    pipeline, number = Pipeline(Camera(device), Marker(device), Gate()), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        number += 1
        frame = pipeline.run(number)
        if number % 25 == 0:
            log.info("frame %d: broken %s", number, ", ".join(f"{share:.0%}" for share in frame.get("broken", ())))
        time.sleep(random.uniform(0.05, 0.15))


if __name__ == "__main__":
    main()
