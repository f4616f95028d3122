"""Flocks of starlings fly, one after the other: each bird follows the nearest of a few leaders. A logbook takes the
places of the birds out of the compiled loop now and then, and sums a flight up when it is over.

ticket: practice
class: none
"""

import logging
import os
import random
import time
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

log = logging.getLogger("starlings")


@dataclass(frozen=True)
class Sky:
    birds: int = 20_000
    leaders: int = 32
    legs: int = 4
    frames: int = 5
    substeps: int = 6
    pull: float = 0.05
    swerve: float = 0.02


class Flock(NamedTuple):
    places: jax.Array
    speeds: jax.Array
    key: jax.Array


class Logbook:
    def __init__(self):
        self.frames = defaultdict(list)

    def take(self, flight, places):
        frame = np.array(places, dtype=np.float32, copy=True)
        self.frames[int(flight)].append(frame)

    def sum_up(self, flight):
        frames = self.frames.pop(flight, [])
        spread = np.mean([frame.std() for frame in frames])
        drift = np.linalg.norm(frames[-1].mean(axis=0) - frames[0].mean(axis=0))
        return len(frames), float(spread), float(drift)


class Aviary:
    def __init__(self, sky, logbook):
        self.sky, self.logbook = sky, logbook
        self.leg = jax.jit(self._leg)

    def hatch(self, seed):
        key, one, two = jax.random.split(jax.random.PRNGKey(seed), 3)
        shape = self.sky.birds, 3
        return Flock(jax.random.normal(one, shape), 0.1 * jax.random.normal(two, shape), key)

    def _beat(self, _, flock):
        sky = self.sky
        key, now = jax.random.split(flock.key)
        leaders = flock.places[:sky.leaders]
        gaps = ((flock.places[:, None] - leaders[None]) ** 2).sum(axis=-1)
        to_leader = leaders[gaps.argmin(axis=1)] - flock.places
        speeds = 0.98 * flock.speeds + sky.pull * to_leader + sky.swerve * jax.random.normal(now, to_leader.shape)
        return Flock(flock.places + 0.1 * speeds, speeds, key)

    def _frame(self, flight, flock, _):
        flock = jax.lax.fori_loop(0, self.sky.substeps, self._beat, flock)
        jax.debug.callback(self.logbook.take, flight, flock.places, ordered=True)
        return flock, None

    def _leg(self, flight, flock):
        flock, _ = jax.lax.scan(partial(self._frame, flight), flock, None, length=self.sky.frames)
        return flock

    def fly(self, flight):
        flock = self.hatch(flight)
        for _ in range(self.sky.legs):
            flock = self.leg(flight, flock)
            flock.places.block_until_ready()
            time.sleep(random.uniform(0.05, 0.15))
        jax.effects_barrier()
        return self.logbook.sum_up(flight)


def main():
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")
    aviary, flight = Aviary(Sky(), Logbook()), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        frames, spread, drift = aviary.fly(flight)
        if flight % 10 == 0:
            log.info("flight %d: %d frames, spread %.2f, drift %.2f", flight, frames, spread, drift)
        flight += 1


if __name__ == "__main__":
    main()
