"""A dendrite freezes out of an undercooled melt of nickel. The phase field runs in one compiled loop, and at the end of
each run it hands the phase to a watcher on the host through a callback. The watcher tells how much is frozen and how
fast the front moves, from the newest frame and the one before it.

ticket: practice
class: none
"""

import os
import time
from collections import deque

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy

SIDE, STEPS, STEP, SPACING = 640, 20, 1e-4, 0.03
TAU, WIDTH, ANISOTROPY, LATENT, ALPHA, GAMMA = 3e-4, 0.01, 0.02, 1.6, 0.9, 10.0


class Watcher:
    """Sees the phase at the end of each run."""

    def __init__(self):
        self.frames = deque(maxlen=2)
        self.seen = 0

    def see(self, phase):
        self.frames.append(numpy.array(phase, dtype=numpy.float32))
        self.seen += 1

    def __str__(self):
        before, now = self.frames[-2], self.frames[-1]
        radius = [(frame[SIDE // 2] > 0.5).sum() * SPACING / 2 for frame in (before, now)]
        speed = (radius[1] - radius[0]) / (STEPS * STEP)
        return f"run {self.seen}: {(now > 0.5).mean():.4f} frozen, front {radius[1]:.2f}, speed {speed:.1f}"


def laplacian(field):
    around = sum(jnp.roll(field, shift, axis) for shift in (1, -1) for axis in (0, 1))
    return (around - 4 * field) / SPACING ** 2


def slope(field, axis):
    return (jnp.roll(field, -1, axis) - jnp.roll(field, 1, axis)) / (2 * SPACING)


def freeze(_, state):
    """One step of the phase and of the heat (Kobayashi's model with four arms)."""
    phase, heat = state
    along, across = slope(phase, 1), slope(phase, 0)
    angle = jnp.arctan2(across, along)
    width = WIDTH * (1 + ANISOTROPY * jnp.cos(4 * angle))
    turned = -4 * WIDTH * ANISOTROPY * jnp.sin(4 * angle)
    twist = slope(width * turned * along, 0) - slope(width * turned * across, 1)
    drive = ALPHA / jnp.pi * jnp.arctan(GAMMA * (1 - heat))
    change = twist + width ** 2 * laplacian(phase) + phase * (1 - phase) * (phase - 0.5 + drive)
    later = jnp.clip(phase + STEP / TAU * change, 0, 1)
    return later, heat + STEP * laplacian(heat) + LATENT * (later - phase)


def make_run(watcher):
    @jax.jit
    def run(phase, heat):
        phase, heat = jax.lax.fori_loop(0, STEPS, freeze, (phase, heat))
        jax.debug.callback(watcher.see, phase)
        return phase, heat

    return run


def seed():
    axis = jnp.arange(SIDE) - SIDE / 2
    phase = (axis[:, None] ** 2 + axis[None] ** 2 < 36).astype(jnp.float32)
    return phase, jnp.zeros((SIDE, SIDE), jnp.float32)


def main():
    watcher, runs = Watcher(), 0
    run = make_run(watcher)
    phase, heat = seed()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        phase, heat = run(phase, heat)
        jax.block_until_ready(phase)
        runs += 1
        if runs % 10 == 0:
            jax.effects_barrier()
            print(watcher, flush=True)
        if float(phase.mean()) > 0.3:
            phase, heat = seed()
        time.sleep(0.1)


if __name__ == "__main__":
    main()
