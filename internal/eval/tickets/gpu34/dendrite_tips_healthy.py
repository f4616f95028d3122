"""A crystal grows in an undercooled melt, as a phase field. The compiled solver calls back to the host after each batch
of steps, with the field as it is then, and a logbook finds there how fast the tip of the longest arm goes: from where
the tip was in the previous entry. When the melt is used up, the next crystal starts.

ticket: practice
class: none
"""

import os
import time
from collections import deque

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

SIDE, BATCH = 384, 6
STEP, ARMS = 1e-4, 6


class Logbook:
    def __init__(self):
        self.entries = deque(maxlen=2)

    def note(self, clock, phase):
        self.entries.append((float(clock), np.array(phase)))

    @staticmethod
    def tip(phase):
        """How far the solid reaches from the middle, in cells."""
        rows, columns = np.nonzero(phase > 0.5)
        return float(np.hypot(rows - SIDE / 2, columns - SIDE / 2).max()) if len(rows) else 0.0

    def speed(self):
        """The speed of the tip between the last two entries."""
        if len(self.entries) < 2:
            return 0.0
        (earlier, before), (later, after) = self.entries[-2], self.entries[-1]
        return (self.tip(after) - self.tip(before)) / max(later - earlier, STEP)


logbook = Logbook()


def slopes(field):
    return [(jnp.roll(field, -1, axis) - jnp.roll(field, 1, axis)) / 0.06 for axis in (0, 1)]


def laplacian(field):
    near = sum(jnp.roll(field, shift, axis) for shift in (1, -1) for axis in (0, 1))
    return (near - 4 * field) / 0.03**2


def step(_, state):
    """One explicit step of Kobayashi's model."""
    phase, heat = state
    down, right = slopes(phase)
    angle = jnp.arctan2(right, down)
    width = 0.01 * (1 + 0.04 * jnp.cos(ARMS * angle))
    drive = 0.9 / jnp.pi * jnp.arctan(10 * (1 - heat))
    change = (width**2 * laplacian(phase) + phase * (1 - phase) * (phase - 0.5 + drive)) / 3e-4
    return phase + STEP * change, heat + STEP * (laplacian(heat) + 1.6 * change)


@jax.jit
def batch(phase, heat, clock):
    phase, heat = jax.lax.fori_loop(0, BATCH, step, (phase, heat))
    clock = clock + BATCH * STEP
    jax.debug.callback(logbook.note, clock, phase)
    return phase, heat, clock


def seed(key):
    row, column = jnp.indices((SIDE, SIDE)) - SIDE / 2
    phase = (row**2 + column**2 < 60).astype(jnp.float32)
    return phase, 0.01 * jax.random.normal(key, (SIDE, SIDE)), jnp.float32(0)


def main():
    key, batches, crystals = jax.random.key(7), 0, 1
    phase, heat, clock = seed(key)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        phase, heat, clock = batch(phase, heat, clock)
        batches += 1
        if batches % 20 == 0:
            solid = float(phase.mean())
            jax.effects_barrier()
            print(f"crystal {crystals}: {solid:.1%} solid, tip speed {logbook.speed():.1f} ", flush=True)
            if solid > 0.3:
                key, _ = jax.random.split(key)
                phase, heat, clock = seed(key)
                crystals += 1
        time.sleep(0.06)


if __name__ == "__main__":
    main()
