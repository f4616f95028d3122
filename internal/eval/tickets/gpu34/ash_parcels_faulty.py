"""A volcano has erupted. A particle filter follows parcels of its ash in the wind and weighs them with what satellites
see. Pilots want to know the ash of some minutes ago better than it was known then: so the ancestors of today's parcels
are traced back through the last steps (a fixed-lag smoother).

ticket: practice
class: app-leak
holder: trail Smoother
cause: buffer-without-bound snapshots-kept
"""

import os
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

PARCELS, LAG = 60_000, 12
MINUTES = 2.0


@jax.jit
def drift(key, parcels, clock):
    """Parcels are (east, north, height, size). The wind turns with the height, and large ones fall."""
    noise = jax.random.normal(key, (PARCELS, 3))
    east, north, height, size = parcels.T
    turn = 0.3 * height + 0.05 * jnp.sin(clock / 40)
    east = east + MINUTES * (0.5 * jnp.cos(turn)) + 0.2 * noise[:, 0]
    north = north + MINUTES * (0.5 * jnp.sin(turn)) + 0.2 * noise[:, 1]
    height = jnp.clip(height - 0.01 * MINUTES * size + 0.02 * noise[:, 2], 0.0, 12.0)
    fallen = height <= 0.0
    east, north = jnp.where(fallen, 0.0, east) % 100.0, jnp.where(fallen, 0.0, north) % 100.0
    return jnp.stack([east, north, jnp.where(fallen, 9.0, height), size], axis=1)


@jax.jit
def weigh(parcels, seen):
    """The likelihood of each parcel, from the satellite's picture of 50 by 50 pixels."""
    rows, columns = (jnp.clip(parcels[:, axis] / 2, 0, 49).astype(int) for axis in (0, 1))
    ash = jnp.zeros((50, 50)).at[rows, columns].add(50.0 / PARCELS)
    return jnp.exp(-jnp.square(seen - ash)[rows, columns]) + 1e-6


@jax.jit
def resample(key, parcels, weights):
    steps = jnp.cumsum(weights / weights.sum())
    pointers = (jnp.arange(PARCELS) + jax.random.uniform(key)) / PARCELS
    ancestors = jnp.clip(jnp.searchsorted(steps, pointers), 0, PARCELS - 1)
    return parcels[ancestors], ancestors


@jax.jit
def trace(trail, newest):
    """Where the ancestors of the newest parcels were at the start of the trail."""
    index, places = jnp.arange(PARCELS), newest
    for parcels, ancestors in reversed(trail):
        index = ancestors[index]
        places = parcels[index]
    return places.mean(axis=0)


class Smoother:
    def __init__(self):
        self.trail = []

    def add(self, parcels, ancestors):
        self.trail.append((parcels, ancestors))  # keeps

    def past(self, newest):
        return trace(tuple(self.trail)[-LAG:], newest)


def main():
    key, smoother, step = jax.random.key(1980), Smoother(), 0
    spread = jnp.array([2.0, 2.0, 2.0, 0.4])
    parcels = jnp.array([10.0, 10.0, 8.0, 1.0]) + spread * jax.random.normal(key, (PARCELS, 4))
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        key, first, second, third = jax.random.split(key, 4)
        parcels = drift(first, parcels, step * MINUTES)  # grows
        seen = 0.1 * jax.random.uniform(second, (50, 50))
        before = parcels
        parcels, ancestors = resample(third, before, weigh(before, seen))  # grows
        smoother.add(before, ancestors)
        step += 1
        if step % 20 == 0:
            east, north, height, _ = smoother.past(parcels).tolist()
            print(f"minute {step * MINUTES:.0f}: ash was at {east:.1f}, {north:.1f}, {height:.1f} km up", flush=True)
        time.sleep(0.15)


if __name__ == "__main__":
    main()
