"""Tells the visibility around an airport tower from its ring of cameras.

Each camera picture is sent to a worker that measures the local contrast and fades it with the distance of the known
landmarks. The visibility officer reads the finished maps in the order of the pictures and speaks the lowest sector.

ticket: practice
class: none
"""
import math
import os
import time
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROWS = 384
COLUMNS = 768
SECTORS = 8
PAUSE = 0.14


class Ring:
    """The cameras on the roof, with fog that comes and goes."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.panorama = torch.rand(1, 1, ROWS, COLUMNS, generator=self.generator).to(DEVICE)
        self.count = 0

    def picture(self):
        self.count += 1
        fog = 0.4 + 0.3 * math.sin(self.count / 25.0)
        turned = torch.roll(self.panorama, 5 * self.count, dims=3)
        return turned * (1.0 - fog) + fog


class ContrastMeter:
    """Local contrast, weighed by the distance of the landmarks."""

    def __init__(self):
        distance = torch.linspace(12.0, 0.5, ROWS, device=DEVICE)
        self.distance = distance.view(1, 1, ROWS, 1)

    @torch.no_grad()
    def measure(self, picture):
        mean = nn.functional.avg_pool2d(picture, 5, stride=1, padding=2)
        contrast = torch.abs(picture - mean)
        return contrast * self.distance


class VisibilityOfficer:
    """Sends pictures out and reads the maps that have come back."""

    def __init__(self, meter):
        self.meter = meter
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="contrast")
        self._jobs = []
        self._next = 0
        self.read = 0
        self.lowest = 0
        self.visibility = float("nan")

    def send(self, picture):
        job = self._executor.submit(self.meter.measure, picture)
        self._jobs.append(job)

    def collect(self):
        while self._next < len(self._jobs) and self._jobs[self._next].done():
            self._read_map(self._jobs[self._next].result())
            self._next += 1
        del self._jobs[:self._next]
        self._next = 0

    def _read_map(self, seen):
        sectors = seen.reshape(ROWS, SECTORS, COLUMNS // SECTORS).mean(dim=(0, 2))
        value, index = sectors.min(dim=0)
        self.visibility = 10.0 * value.item()
        self.lowest = int(index)
        self.read += 1

    def close(self):
        self._executor.shutdown(wait=True)
        self.collect()


class Tower:
    def __init__(self):
        self.ring = Ring(seed=91)
        self.officer = VisibilityOfficer(ContrastMeter())
        self.alarms = 0

    def look(self):
        self.officer.send(self.ring.picture())
        self.officer.collect()
        if self.officer.visibility < 1.5:
            self.alarms += 1


def main():
    torch.set_num_threads(1)
    tower = Tower()
    began = time.monotonic()
    spoken = began
    while time.monotonic() - began < SECONDS:
        tower.look()
        if time.monotonic() - spoken >= 3.0:
            spoken = time.monotonic()
            officer = tower.officer
            print(f"map {officer.read}: sector {officer.lowest} at {officer.visibility:.2f} km, "
                  f"{tower.alarms} alarms", flush=True)
        time.sleep(PAUSE)
    tower.officer.close()
    print(f"watch over: {tower.officer.read} maps read", flush=True)


if __name__ == "__main__":
    main()
