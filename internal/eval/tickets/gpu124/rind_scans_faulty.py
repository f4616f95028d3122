"""Rind scans in a cheese cellar.

A turning robot passes the wheels before a camera and sends the scans to a small pool of graders. Each grader smooths
the scan, marks mould and cracks, and hands back a map of the rind. The cellar master gets a grade for every wheel and
the robot's turning plan follows from the grades.

ticket: practice
class: app-leak
holder: _gradings
cause: futures-kept
"""

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(8)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
HEIGHT, WIDTH = 256, 512
WHEELS_A_ROUND = 2
ROUNDS_A_SECOND = 6


class Camera:
    """Unrolled pictures of the rind, with patches of mould."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.rng = random.Random(seed)

    def scan(self):
        picture = torch.rand(HEIGHT, WIDTH, generator=self.generator)
        for _ in range(self.rng.randint(0, 4)):
            row, column = self.rng.randrange(HEIGHT - 40), self.rng.randrange(WIDTH - 40)
            picture[row:row + 40, column:column + 40] += self.rng.uniform(0.2, 0.8)
        return picture


class Grader:
    """Filters shared by the threads of the pool."""

    def __init__(self):
        ramp = torch.arange(7, dtype=torch.float32, device=DEVICE) - 3.0
        bell = torch.exp(-ramp.pow(2) / 6.0)
        self.smooth = (bell[:, None] * bell[None, :] / bell.sum() ** 2)[None, None]
        self.edges = (bell[:, None] * ramp[None, :] / bell.sum())[None, None]

    def grade(self, picture):
        """A map of blemishes, one value for each point of the rind."""
        with torch.no_grad():
            rind = picture.to(DEVICE)[None, None]
            mould = F.conv2d(rind, self.smooth, padding=3)
            cracks = F.conv2d(mould, self.edges, padding=3)
            return torch.relu(mould - 0.55).add_(cracks.abs(), alpha=0.05)[0, 0]  # grows


class CellarLine:
    """Sends wheels to the pool, and takes up the grades as they come."""

    def __init__(self, grader, workers=2):
        self.grader = grader
        self.pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="grader")
        self._gradings = {}
        self._waiting = []
        self.sent = 0
        self.graded = 0
        self.turns = {"often": 0, "seldom": 0}

    def send(self, picture):
        self.sent += 1
        self._gradings[self.sent] = self.pool.submit(self.grader.grade, picture)  # keeps
        self._waiting.append(self.sent)

    def plan(self, blemishes):
        share = float((blemishes > 0.1).float().mean())
        self.turns["often" if share > 0.05 else "seldom"] += 1
        return share

    def take_up(self):
        """Grade the wheels whose scans are through, in the order in which they were sent."""
        shares = []
        while self._waiting and self._gradings[self._waiting[0]].done():
            wheel = self._waiting.pop(0)
            grading = self._gradings[wheel]
            shares.append(self.plan(grading.result()))
            self.graded += 1
        return shares

    def close(self):
        self.pool.shutdown(wait=True)
        self.take_up()


def main():
    camera = Camera(seed=23)
    line = CellarLine(Grader())
    started = time.monotonic()
    reported = started
    latest = 0.0
    while time.monotonic() - started < SECONDS:
        begun = time.monotonic()
        for _ in range(WHEELS_A_ROUND):
            line.send(camera.scan())
        shares = line.take_up()
        if shares:
            latest = shares[-1]
        if begun - reported > 3.0:
            reported = begun
            print(f"{line.graded} of {line.sent} wheels graded, blemished {latest:.3f}", flush=True)
        time.sleep(max(0.0, 1.0 / ROUNDS_A_SECOND - (time.monotonic() - begun)))
    line.close()
    print(f"cellar closed: {line.graded} wheels, turn often {line.turns['often']}", flush=True)


if __name__ == "__main__":
    main()
