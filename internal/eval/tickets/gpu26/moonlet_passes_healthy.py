"""Ring particles pass a moonlet of Saturn, in the rotating frame of Hill. Each pass is integrated in blocks of
leapfrog steps; after each block the step is adapted to the closest particle, so it shrinks near the moonlet and grows
far from it. The convergence record of the last blocks, step and drift of the Jacobi constant, is printed.

ticket: practice
class: none
"""

import functools
import os
import random
import time
from collections import deque

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

PARTICLES, BLOCK, LENGTH = 5000, 16, 3.0
SMALLEST, LARGEST = 0.004, 0.05


def attraction(places):
    """The pull of the moonlet, the tide of the planet."""
    distance = jnp.sqrt((places ** 2).sum(axis=1, keepdims=True) + 1e-2)
    tide = jnp.stack([3 * places[:, 0], jnp.zeros(len(places)), -places[:, 2]], axis=1)
    return tide - places / distance ** 3


def turn(speeds, angle):
    """The rotation of the velocity by the Coriolis force."""
    cosine, sine = jnp.cos(angle), jnp.sin(angle)
    x, y = speeds[:, 0] * cosine + speeds[:, 1] * sine, speeds[:, 1] * cosine - speeds[:, 0] * sine
    return jnp.stack([x, y, speeds[:, 2]], axis=1)


def jacobi(places, speeds):
    distance = jnp.sqrt((places ** 2).sum(axis=1) + 1e-2)
    energy = 0.5 * (speeds ** 2).sum(axis=1) - 1.5 * places[:, 0] ** 2 + 0.5 * places[:, 2] ** 2
    return (energy - 1 / distance).mean()


@functools.partial(jax.jit, static_argnames="number")
def integrate(places, speeds, step, number):
    """A block of steps. Also the distance of the closest particle and how far the constant drifted."""
    before = jacobi(places, speeds)
    for _ in range(number):
        speeds = speeds + 0.5 * step * attraction(places)
        speeds = turn(speeds, step)
        places = places + step * speeds
        speeds = turn(speeds, step)
        speeds = speeds + 0.5 * step * attraction(places)
    closest = (places ** 2).sum(axis=1).min()
    return places, speeds, closest, jacobi(places, speeds) - before


def approach(key, impact):
    """Particles on the shear flow, upstream of the moonlet."""
    noise = 0.2 * jax.random.normal(key, (PARTICLES, 3))
    places = noise + jnp.array([impact, 4.0 if impact > 0 else -4.0, 0.0])
    speeds = jnp.stack([jnp.zeros(PARTICLES), -1.5 * places[:, 0], jnp.zeros(PARTICLES)], axis=1)
    return places, speeds


def main():
    key, passes, record = jax.random.PRNGKey(7), 0, deque(maxlen=50)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        key, now = jax.random.split(key)
        places, speeds = approach(now, random.choice((-1, 1)) * random.uniform(0.5, 2.5))
        clock, step, blocks = 0.0, LARGEST, 0
        while clock < LENGTH and time.time() < end:
            places, speeds, closest, drift = integrate(places, speeds, step, BLOCK)
            clock, blocks = clock + step * BLOCK, blocks + 1
            record.append((step, float(drift)))
            step = min(LARGEST, max(SMALLEST, 0.1 * float(closest) ** 0.5 + 0.002))
            time.sleep(0.03)
        passes += 1
        worst = max(abs(drift) for _, drift in record)
        mean = sum(step for step, _ in record) / len(record)
        print(f"pass {passes}: {blocks} blocks, mean step {mean:.4f}, worst drift {worst:.1e}", flush=True)


if __name__ == "__main__":
    main()
