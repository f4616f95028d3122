"""Wind blows over a bed of sand and ripples grow: a small model of hopping grains, advanced on the accelerator in
compiled runs of many steps. After each run the surface is handed to a recorder on the host, by a callback from inside
the compiled function. At the end the surface with the steepest slopes is written to a file.

ticket: practice
class: host-growth
holder: surfaces Recorder
cause: results-kept snapshots-kept buffer-without-bound
"""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import tempfile
import time

import jax
import jax.numpy as jnp
import numpy as np

SIDE, STEPS = 512, 20
HOP, CREEP = 4.0, 0.12


class Recorder:
    """Watches the surfaces that the simulation hands over."""

    def __init__(self):
        self.surfaces = []

    def add(self, number, surface):
        surface = np.array(surface)  # grows
        slope = float(np.abs(np.diff(surface, axis=1)).max())
        self.surfaces.append((slope, int(number), surface))  # keeps
        if int(number) % 25 == 0:
            print(f"run {int(number)}: slope {slope:.4f}, steepest {self.steepest()[0]:.4f}", flush=True)

    def steepest(self):
        return max(self.surfaces, key=lambda entry: entry[0])


recorder = Recorder()


def hop(surface, key):
    """Grains leave the windward side, land downwind, and creep downhill."""
    gust = 0.5 + jax.random.uniform(key, surface.shape)
    windward = jnp.roll(surface, 1, axis=1) - jnp.roll(surface, -1, axis=1)
    leaving = 0.01 * gust * jax.nn.sigmoid(-HOP * windward)
    surface = surface - leaving + jnp.roll(leaving, 6, axis=1)
    around = sum(jnp.roll(surface, shift, axis) for shift in (1, -1) for axis in (0, 1)) / 4
    return surface + CREEP * (around - surface), None


@jax.jit
def run(number, surface, key):
    surface, _ = jax.lax.scan(hop, surface, jax.random.split(key, STEPS))
    jax.debug.callback(recorder.add, number, surface)
    return surface


def main():
    key = jax.random.key(3)
    surface = 0.01 * jax.random.normal(key, (SIDE, SIDE))
    number = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        number += 1
        surface = run(number, surface, jax.random.fold_in(key, number))
        surface.block_until_ready()
        time.sleep(0.08)
    jax.effects_barrier()
    slope, number, surface = recorder.steepest()
    with tempfile.TemporaryFile() as file:
        np.save(file, surface)
    print(f"steepest surface: run {number}, slope {slope:.4f}")


if __name__ == "__main__":
    main()
