"""Octaves of a piano are stretched, since stiff strings sound their partials sharp.

For twelve keys of the middle octaves the tuner samples the beats of the paired partials over a fine grid of stretch and
stiffness, takes a gradient step on the stretch, and goes on to the next key. When all twelve keys are done the curves
of the piano are summed up and the next piano is wheeled in.

ticket: practice
class: app-leak
holder: curves
cause: results-kept
"""
import os
import random
import time
from dataclasses import dataclass

import jax
import jax.numpy as jnp

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 6
KEYS = 12
STRETCHES, STIFFNESSES = 512, 512
PARTIALS = 6


@jax.jit
def beat_curve(stretch_grid, stiffness_grid, base, stiffness):
    """How fast the partials of an octave beat, for each stretch and stiffness on the grid."""
    total = jnp.zeros_like(stretch_grid)
    for partial in range(1, PARTIALS + 1):
        sharp = jnp.sqrt(1.0 + (stiffness + stiffness_grid) * (2.0 * partial) ** 2)
        upper = jnp.sqrt(1.0 + (stiffness + stiffness_grid) * partial ** 2) * (2.0 + stretch_grid)
        total = total + jnp.abs(2.0 * sharp - upper) * base * partial / PARTIALS
    return total


@jax.jit
def beat_loss(stretch, base, stiffness):
    partials = jnp.arange(1, PARTIALS + 1)
    lower = 2.0 * jnp.sqrt(1.0 + stiffness * (2.0 * partials) ** 2)
    upper = jnp.sqrt(1.0 + stiffness * partials ** 2) * (2.0 + stretch)
    return jnp.mean((lower - upper) ** 2) * base


beat_slope = jax.jit(jax.grad(beat_loss))


@dataclass
class Piano:
    number: int
    stiffness: list

    @classmethod
    def delivered(cls, number, noise):
        return cls(number, [abs(noise.gauss(4e-4, 1e-4)) for _ in range(KEYS)])

    def base(self, key):
        return 220.0 * 2.0 ** (key / 12.0)


class Workshop:
    def __init__(self, seed):
        self.random = random.Random(seed)
        stretch = jnp.linspace(-0.01, 0.02, STRETCHES, dtype=jnp.float32)
        stiffness = jnp.linspace(0.0, 2e-4, STIFFNESSES, dtype=jnp.float32)
        self.stretch_grid, self.stiffness_grid = jnp.meshgrid(stretch, stiffness)
        self.piano = Piano.delivered(1, self.random)
        self.stretch = [0.0] * KEYS
        self.curves = {}

    def tune(self, key):
        base, stiffness = self.piano.base(key), self.piano.stiffness[key]
        curve = beat_curve(self.stretch_grid, self.stiffness_grid, base, stiffness)  # grows
        curve.block_until_ready()
        self.curves[self.piano.number, key] = curve  # keeps
        slope = float(beat_slope(self.stretch[key], base, stiffness))
        self.stretch[key] -= 0.1 * slope / base

    def sum_up(self):
        slowest = 0.0
        for key in range(KEYS):
            curve = self.curves[self.piano.number, key]
            slowest += float(jnp.min(curve)) / KEYS
        return slowest

    def wheel_in(self):
        self.piano = Piano.delivered(self.piano.number + 1, self.random)


def main():
    workshop = Workshop(seed=440)
    start = time.monotonic()
    rounds = 0
    beats = 0.0
    while time.monotonic() - start < SECONDS:
        key = rounds % KEYS
        workshop.tune(key)
        rounds += 1
        if key == KEYS - 1:
            beats = workshop.sum_up()
            workshop.wheel_in()
        if rounds % (3 * ROUNDS_PER_SECOND) == 0:
            print(f"piano {workshop.piano.number}: slowest beats {beats:.4f} Hz, "
                  f"stretch of the top key {workshop.stretch[-1]:.5f}", flush=True)
        time.sleep(max(0.0, start + rounds / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"{rounds} octaves tuned on {workshop.piano.number} pianos", flush=True)


if __name__ == "__main__":
    main()
