"""A swarm of particles follows a target by its bearings. To correct where the target was some steps ago, the particles
of each step and their ancestors are kept; only the last twenty steps are looked at.

ticket: practice
class: app-leak
holder: past steps
cause: results-kept cache-without-bound snapshots-kept
"""

import os
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

COUNT, LAG = 24000, 20


@jax.jit
def move_and_weigh(key, particles, bearings):
    """Moves all particles, weighs them by what was measured, and draws new ones of them."""
    drift, draw = jax.random.split(key)
    place, speed = particles[:, :4], particles[:, 4:]
    speed = speed + 0.05 * jax.random.normal(drift, speed.shape)
    place = place + 0.1 * speed
    seen = jnp.arctan2(place[:, 1::2], place[:, ::2])
    weights = -0.5 * jnp.square((seen - bearings) / 0.2).sum(1)
    points = (jnp.arange(COUNT) + jax.random.uniform(draw)) / COUNT
    ancestors = jnp.searchsorted(jnp.cumsum(jax.nn.softmax(weights)), points).clip(0, COUNT - 1)
    return jnp.concatenate([place, speed], 1)[ancestors], ancestors


@jax.jit
def step_back(ancestors, chosen):
    return ancestors[chosen]


@jax.jit
def mean_of(particles, chosen):
    return particles[chosen].mean(0)


class Smoother:
    """Estimates of where the target was, with what is known since."""

    def __init__(self):
        self.past = []

    def add(self, particles, ancestors):
        self.past.append((particles, ancestors))  # keeps

    def estimate(self):
        chosen = jnp.arange(COUNT)
        for back in range(1, LAG):
            chosen = step_back(self.past[-back][1], chosen)
        return mean_of(self.past[-LAG][0], chosen)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    key, random = jax.random.key(3), np.random.default_rng(5)
    particles = jax.random.normal(jax.random.key(0), (COUNT, 8))
    target, speed = random.normal(size=4), random.normal(size=4)
    smoother, step = Smoother(), 0
    while time.time() < end:
        speed = 0.98 * speed + 0.05 * random.normal(size=4)
        target = target + 0.1 * speed
        bearings = np.arctan2(target[1::2], target[::2]) + 0.1 * random.normal(size=2)
        key, draw = jax.random.split(key)
        particles, ancestors = move_and_weigh(draw, particles, bearings.astype(np.float32))  # grows
        smoother.add(particles, ancestors)
        step += 1
        if step > LAG and step % 5 == 0:
            estimate = np.asarray(smoother.estimate())
            if step % 50 == 0:
                print("step", step, "off by", round(float(np.abs(estimate[:4] - target).mean()), 3), flush=True)
        time.sleep(0.12)


if __name__ == "__main__":
    main()
