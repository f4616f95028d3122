"""Tracking of ski jumpers in the air.

Every jumper who leaves the table is followed by a cloud of particles with place, speed, lean and lift. With
each reading of the radar the cloud is moved on and weighed again. A jumper who lands gets a distance from the
cloud and points from the judges; one who loses balance in the air is noted as a fall and gets none.

ticket: practice
class: none
"""
import os
import time
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 12
PARTICLES = 32_768
FEATURES = 8
AIR_ROUNDS = 10
FALL_CHANCE = 0.067
STEP_S = 0.45
HILL_SLOPE = 0.62


@jax.jit
def leave_table(key, inrun_speed):
    spread = jax.random.normal(key, (PARTICLES, FEATURES)) * 0.1
    start = jnp.array([0.0, 3.0, 0.0, 1.5, 0.5, 0.4, 0.0, 0.0])
    return (start + spread).at[:, 2].add(inrun_speed)


@jax.jit
def move_on(cloud, key, wind, reading):
    """One step of flight, and a new draw of the particles near the radar reading."""
    step_key, draw_key = jax.random.split(key)
    noise = jax.random.normal(step_key, cloud.shape) * 0.05
    along, height, speed, climb, lean, lift = (cloud[:, n] for n in range(6))
    air = speed + wind
    climb = climb + STEP_S * (lift * lean * air * air * 0.006 - 4.5)
    speed = speed - STEP_S * 0.002 * air * air * (1.2 - lean)
    along = along + STEP_S * speed
    height = height + STEP_S * climb
    moved = jnp.stack([along, height, speed, climb, lean, lift, cloud[:, 6], cloud[:, 7]], axis=1) + noise
    log_weight = -0.5 * ((moved[:, 2] - reading) / 0.8) ** 2
    chosen = jax.random.categorical(draw_key, log_weight, shape=(16,))
    pull = moved[chosen].mean(axis=0) - moved.mean(axis=0)
    return moved + 0.5 * pull


@jax.jit
def landing_point(cloud):
    along = cloud[:, 0]
    return along.mean() * jnp.sqrt(1.0 + HILL_SLOPE ** 2), along.std()


@dataclass
class Jumper:
    bib: int
    inrun_speed: float
    rounds: int = 0


class FlightTracker:
    """The jumpers now in the air, and their clouds by bib."""

    def __init__(self, seed):
        self._key = jax.random.PRNGKey(seed)
        self._rng = np.random.default_rng(seed)
        self._clouds = {}
        self.aloft = []
        self.bibs = 0
        self.falls = 0
        self.distances = 0
        self.best = 0.0

    def _next_key(self):
        self._key, key = jax.random.split(self._key)
        return key

    def start(self):
        self.bibs += 1
        jumper = Jumper(self.bibs, float(self._rng.normal(25.5, 0.4)))
        self._clouds[jumper.bib] = leave_table(self._next_key(), jumper.inrun_speed)
        self.aloft.append(jumper)

    def advance(self, wind):
        still_aloft = []
        for jumper in self.aloft:
            jumper.rounds += 1
            reading = jumper.inrun_speed - 0.2 * jumper.rounds + float(self._rng.normal(0.0, 0.3))
            cloud = self._clouds[jumper.bib]
            self._clouds[jumper.bib] = move_on(cloud, self._next_key(), wind, reading)
            if self._rng.random() < FALL_CHANCE:
                self.falls += 1
                del self._clouds[jumper.bib]
            elif jumper.rounds >= AIR_ROUNDS:
                self.land(jumper)
            else:
                still_aloft.append(jumper)
        self.aloft = still_aloft

    def land(self, jumper):
        metres, spread = landing_point(self._clouds.pop(jumper.bib))
        self.distances += 1
        if float(spread) < 20.0:
            self.best = max(self.best, float(metres))


def main():
    tracker = FlightTracker(seed=2011)
    gusts = np.random.default_rng(2012)
    wind = 0.5
    started = time.monotonic()
    said = started
    rounds = 0
    while time.monotonic() - started < SECONDS:
        wind = 0.9 * wind + 0.1 * float(gusts.normal(0.5, 1.5))
        tracker.start()
        tracker.advance(wind)
        rounds += 1
        if time.monotonic() - said >= 3.0:
            said = time.monotonic()
            print(f"round {rounds}: {len(tracker.aloft)} aloft, {tracker.distances} landed, "
                  f"{tracker.falls} falls, best {tracker.best:.1f} m", flush=True)
        time.sleep(1.0 / ROUNDS_PER_SECOND)
    print(f"hill closed: {tracker.bibs} jumpers, best {tracker.best:.1f} m", flush=True)


if __name__ == "__main__":
    main()
