"""Settlement of coral larvae in the raceway of a land nursery.

Larvae drift in a shallow raceway with a slow current until they settle on tiles. The model follows larvae and oxygen
on a grid. Now and then an aerator trips and the readings of that stretch are worthless; the run is then taken back to
the last state that was set aside, and goes on from there with the aerator in service.

ticket: practice
class: app-leak
holder: _aside
cause: snapshots-kept
"""
import os
import random
import time

import cupy as cp

ROWS, COLS = 384, 512
STEPS_PER_SECOND = 12
STRIDE = 3
KEEP_STEPS = 40


class Raceway:
    """Larvae (per litre) and oxygen (milligrams per litre) on a grid of the raceway."""

    def __init__(self, seed):
        rng = cp.random.RandomState(seed)
        self.fields = {
            "larvae": rng.uniform(20.0, 60.0, (ROWS, COLS)).astype(cp.float32),
            "oxygen": cp.full((ROWS, COLS), 6.5, dtype=cp.float32),
        }
        self.tiles = (rng.uniform(0.0, 1.0, (ROWS, COLS)) < 0.3).astype(cp.float32)
        self.settled = cp.zeros((ROWS, COLS), dtype=cp.float32)
        self.aerator = True

    @staticmethod
    def _spread(field, rate):
        around = cp.roll(field, 1, 0) + cp.roll(field, -1, 0) + cp.roll(field, 1, 1) + cp.roll(field, -1, 1)
        field += rate * (0.25 * around - field)

    def _drift(self, field):
        field += 0.3 * (cp.roll(field, 1, 1) - field)

    def step(self):
        larvae, oxygen = self.fields["larvae"], self.fields["oxygen"]
        self._drift(larvae)
        self._spread(larvae, 0.2)
        self._spread(oxygen, 0.4)
        settling = 0.004 * larvae * self.tiles
        larvae -= settling
        larvae += 0.0012 * (40.0 - larvae)
        self.settled += settling
        self.settled *= 0.995
        oxygen -= 0.002 * larvae
        if self.aerator:
            oxygen += 0.05 * (7.2 - oxygen)
        cp.clip(oxygen, 0.0, 9.0, out=oxygen)

    def copy_fields(self):
        return {name: field.copy() for name, field in self.fields.items()}  # grows

    def restore(self, fields):
        for name, field in fields.items():
            self.fields[name][...] = field


class Rewinder:
    """Sets states of the raceway aside every few steps, for going back to."""

    def __init__(self, stride, keep_steps):
        self.stride = stride
        self.keep_steps = keep_steps
        self._aside = {}

    def visit(self, step, raceway):
        if step % self.stride:
            return
        self._aside[step] = raceway.copy_fields()  # keeps
        self._aside.pop(step - self.keep_steps, None)

    def go_back(self, raceway):
        latest = max(self._aside)
        raceway.restore(self._aside[latest])
        return latest


class Aerator:
    """Trips at random and is put back by the keeper a few steps later."""

    def __init__(self, seed):
        self._rng = random.Random(seed)
        self._off_for = 0
        self.trips = 0

    def tick(self):
        """True when the aerator has just been put back."""
        if self._off_for:
            self._off_for -= 1
            return self._off_for == 0
        if self._rng.random() < 0.02:
            self._off_for = 4
            self.trips += 1
        return False

    @property
    def running(self):
        return self._off_for == 0


def main():
    seconds = float(os.environ.get("SECONDS", "120"))
    raceway = Raceway(seed=23)
    rewinder = Rewinder(STRIDE, KEEP_STEPS)
    aerator = Aerator(seed=24)

    start = time.monotonic()
    next_line = start + 3.0
    step = 0
    went_back = 0
    while time.monotonic() - start < seconds:
        raceway.step()
        rewinder.visit(step, raceway)
        if aerator.tick():
            rewinder.go_back(raceway)
            went_back += 1
        raceway.aerator = aerator.running
        step += 1
        if time.monotonic() >= next_line:
            oxygen = float(raceway.fields["oxygen"].mean())
            print(f"step {step}: {float(raceway.settled.sum()):.0f} settled, oxygen {oxygen:.2f} mg/l", flush=True)
            next_line += 3.0
        time.sleep(max(0.0, start + step / STEPS_PER_SECOND - time.monotonic()))
    print(f"ran {step} steps, {aerator.trips} trips of the aerator, {went_back} times back", flush=True)


if __name__ == "__main__":
    main()
