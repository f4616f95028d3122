"""Growth of halite crystals on the floor of a crystalliser pan, as a phase field with the salt in the brine.

The field phi is 1 in crystal and 0 in brine; a second field holds how far the brine is above saturation. Heat from the
sun adds to it, growing crystals take from it, and now and then a shower thins the brine. The run saves a restore point
every few steps, and goes back to the oldest one if the fields stop being finite.

    ticket: practice
    class: app-leak
    holder: _points
    cause: snapshots-kept
"""
import os
import random
import time

import cupy as cp
import numpy as np

SECONDS = float(os.environ.get("SECONDS", "45"))
SIDE = 1024
ROUND = 0.1
SAVE_EVERY = 5
POINTS = 4
SEEDS = 160
STEP = 0.1
WIDTH = 0.6
FEED = 0.0015


def laplacian(field):
    return (
        cp.roll(field, 1, axis=0)
        + cp.roll(field, -1, axis=0)
        + cp.roll(field, 1, axis=1)
        + cp.roll(field, -1, axis=1)
        - 4.0 * field
    )


def label(step):
    return f"pan-{step:07d}"


class RestorePoints:
    """Copies of the crystal field at recent steps, by label."""

    def __init__(self, every, count):
        self.every = every
        self.count = count
        self._points = {}

    def save(self, step, phi):
        self._points[label(step)] = phi.copy()  # grows keeps
        self._points.pop(step - self.every * self.count, None)

    def oldest(self):
        name = min(self._points)
        return name, self._points[name].copy()


class Pan:
    """The two fields of the pan floor."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        phi = np.zeros((SIDE, SIDE), dtype=np.float32)
        for row, column in rng.integers(4, SIDE - 4, size=(SEEDS, 2)):
            phi[row - 3:row + 3, column - 3:column + 3] = 1.0
        self.phi = cp.asarray(phi)
        excess = 0.4 + 0.05 * rng.random((SIDE, SIDE), dtype=np.float32)
        self.excess = cp.asarray(excess.astype(np.float32))

    def advance(self):
        phi, excess = self.phi, self.excess
        drive = phi * (1.0 - phi) * (phi - 0.5 + 0.4 * cp.tanh(3.0 * excess))
        change = STEP * (WIDTH * laplacian(phi) + 4.0 * drive)
        self.phi = cp.clip(phi + change, 0.0, 1.0)
        self.excess = excess + STEP * laplacian(excess) - 0.5 * change + FEED * (1.0 - phi)

    def shower(self, strength):
        self.excess *= 1.0 - strength

    def sound(self):
        return bool(cp.isfinite(self.phi).all())

    def cover(self):
        return float(self.phi.mean())

    def richness(self):
        return float(self.excess.mean())


def main():
    weather = random.Random(40)
    pan = Pan(seed=40)
    points = RestorePoints(SAVE_EVERY, POINTS)
    end = time.time() + SECONDS
    spoken = time.time()
    step = 0
    while time.time() < end:
        started = time.time()
        pan.advance()
        if weather.random() < 0.02:
            pan.shower(weather.uniform(0.1, 0.4))
        if step % SAVE_EVERY == 0:
            if pan.sound():
                points.save(step, pan.phi)
            else:
                name, pan.phi = points.oldest()
                print(f"step {step}: back to {name}", flush=True)
        step += 1
        if time.time() - spoken > 3.0:
            spoken = time.time()
            print(f"step {step}: {pan.cover():.2%} covered, excess {pan.richness():.3f}", flush=True)
        time.sleep(max(0.01, ROUND - (time.time() - started)))
    print(f"pan drained after {step} steps, {pan.cover():.2%} of the floor is salt", flush=True)


if __name__ == "__main__":
    main()
