"""Charging of raw batch into a glass furnace.

Screw chargers push blankets of sand, soda and cullet onto the melt. How a blanket spreads is worked out by a thread
of the planning room on the host; the heat model of the melt runs on the device and takes the blankets over in the
order in which they were charged. The shift leader reads the cover of the melt and the batch line's distance.

    ticket: practice
    class: host-growth
    holder: _blankets
    cause: futures-kept
"""
import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
CHARGES_PER_SECOND = 6
LENGTH, WIDTH = 512, 256
MELT_TEMPERATURE = 1480.0
RECIPES = {"flint": 0.9, "amber": 1.1, "green": 1.0}


def spread_blanket(number, load):
    """Thickness of the blanket over the melt, in metres, some minutes after the charge."""
    random = np.random.default_rng(910_000 + number)
    along = np.linspace(0.0, 1.0, LENGTH)[:, None]
    across = np.linspace(-1.0, 1.0, WIDTH)[None, :]
    lumps = random.standard_normal((LENGTH // 8, WIDTH // 8)).repeat(8, axis=0).repeat(8, axis=1)
    shape = load * np.exp(-3.0 * along) * (1.0 - 0.5 * across ** 2)
    return np.maximum(shape * 0.12 + 0.01 * lumps, 0.0)  # grows


class PlanningRoom:
    """Hands the charges to the thread and gives the blankets out in their order."""

    def __init__(self):
        self.charged = 0
        self._next = 0
        self._blankets = {}
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="planning")

    def charge(self, load):
        self._blankets[self.charged] = self._pool.submit(spread_blanket, self.charged, load)  # keeps
        self.charged += 1

    def spread(self):
        """The blankets that are worked out, up to the first which is not."""
        while self._next in self._blankets and self._blankets[self._next].done():
            blanket = self._blankets[self._next]
            self._next += 1
            yield blanket.result()

    def close(self):
        self._pool.shutdown(wait=True)


class Melt:
    """Heat of the surface of the melt under its cover."""

    def __init__(self):
        self.kelvin = torch.full((LENGTH, WIDTH), MELT_TEMPERATURE, device=DEVICE)
        self.cover = torch.zeros(LENGTH, WIDTH, device=DEVICE)
        self.upload = torch.zeros(LENGTH, WIDTH, device=DEVICE)

    def take_over(self, thickness):
        self.upload.copy_(torch.from_numpy(thickness))
        self.cover.mul_(0.8).add_(self.upload)

    def step(self):
        bare = torch.exp(-20.0 * self.cover)
        self.kelvin += 0.05 * (bare * 1520.0 + (1.0 - bare) * 1180.0 - self.kelvin)
        self.cover.mul_(0.995)

    def batch_line(self):
        """Where along the tank the cover comes to an end, from 0 to 1."""
        covered = (self.cover.mean(dim=1) > 0.02).float()
        return float(covered.sum()) / LENGTH

    def covered(self):
        return float((self.cover > 0.02).float().mean())


class ShiftLeader:
    """Chooses the load of the next charge so that the batch line stays where it should be."""

    def __init__(self, aim):
        self.aim = aim
        self.load = 1.0
        self.recipe = "flint"

    def choose(self, melt, number):
        names = sorted(RECIPES)
        self.recipe = names[(number // 90) % len(names)]
        self.load = min(1.6, max(0.4, self.load + 0.2 * (self.aim - melt.batch_line())))
        return self.load * RECIPES[self.recipe]


def run_shift(seconds):
    room = PlanningRoom()
    melt = Melt()
    leader = ShiftLeader(aim=0.55)
    taken = 0
    started = time.monotonic()
    while time.monotonic() - started < seconds:
        room.charge(leader.choose(melt, room.charged))
        for thickness in room.spread():
            melt.take_over(thickness)
            taken += 1
        melt.step()
        if room.charged % (3 * CHARGES_PER_SECOND) == 0:
            print(f"charge {room.charged} ({leader.recipe}, load {leader.load:.2f}): cover {melt.covered():.2f}, "
                  f"batch line {melt.batch_line():.2f}", flush=True)
        time.sleep(max(0.0, started + room.charged / CHARGES_PER_SECOND - time.monotonic()))
    room.close()
    return room.charged, taken, melt


def main():
    torch.set_num_threads(1)
    charged, taken, melt = run_shift(float(os.environ.get("SECONDS", "120")))
    print(f"shift over: {charged} charges, {taken} taken over, melt at {float(melt.kelvin.mean()):.0f} K", flush=True)


if __name__ == "__main__":
    main()
