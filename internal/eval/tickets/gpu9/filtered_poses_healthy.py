"""A robot's place is followed by a particle filter in jax. Each step of the filter knows the one before it, for the
smoothing of the last steps; behind those the chain is cut.

ticket: practice
class: none
"""

import dataclasses
import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

PARTICLES, WINDOW = 80_000, 12
BEACONS = jnp.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]])


@dataclasses.dataclass
class Step:
    """The particles at a time, whose child each is, and the step that they come from."""

    poses: jax.Array
    parents: jax.Array
    before: "Step | None" = None


@jax.jit
def advance(key, poses, speed, turn, ranges):
    first, second, third = jax.random.split(key, 3)
    heading = poses[:, 2] + turn + 0.05 * jax.random.normal(first, (PARTICLES,))
    way = speed + 0.05 * jax.random.normal(second, (PARTICLES,))
    moved = jnp.stack([poses[:, 0] + way * jnp.cos(heading), poses[:, 1] + way * jnp.sin(heading), heading], 1)
    seen = jnp.linalg.norm(moved[:, None, :2] - BEACONS, axis=-1)
    weights = jax.nn.softmax(-jnp.square(seen - ranges).sum(-1) / 0.5)
    marks = (jnp.arange(PARTICLES) + jax.random.uniform(third)) / PARTICLES
    parents = jnp.searchsorted(jnp.cumsum(weights), marks).clip(0, PARTICLES - 1)
    return moved[parents], parents


@jax.jit
def follow(poses, parents, chosen):
    return poses[chosen, :2].mean(0), parents[chosen]


class Filter:
    """Particles, and the way that the last of them came."""

    def __init__(self):
        self.key, start = jax.random.split(jax.random.key(1))
        poses = jax.random.uniform(start, (PARTICLES, 3)) * jnp.array([10, 10, 6.3])
        self.last = Step(poses, jnp.arange(PARTICLES))

    def add(self, speed, turn, ranges):
        self.key, key = jax.random.split(self.key)
        poses, parents = advance(key, self.last.poses, speed, turn, ranges)
        self.last = Step(poses, parents, before=self.last)

    def smoothed(self):
        """Where it was in the last steps, as seen from now."""
        way, step, chosen = [], self.last, jnp.arange(0, PARTICLES, 8)
        while step is not None and len(way) < WINDOW:
            place, chosen = follow(step.poses, step.parents, chosen)
            way.append(place)
            kept, step = step, step.before
        kept.before = None
        return jnp.stack(way[::-1])


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    robot, tracker, steps = jnp.array([5.0, 5.0, 0.0]), Filter(), 0
    while time.time() < end:
        speed, turn = random.uniform(0.1, 0.4), random.uniform(0.1, 0.4)
        heading = robot[2] + turn
        robot = jnp.stack([robot[0] + speed * jnp.cos(heading), robot[1] + speed * jnp.sin(heading), heading])
        tracker.add(speed, turn, jnp.linalg.norm(robot[:2] - BEACONS, axis=-1))
        way = tracker.smoothed()
        steps += 1
        if steps % 40 == 0:
            print(steps, "steps, off by", round(float(jnp.linalg.norm(way[-1] - robot[:2])), 3), flush=True)
            time.sleep(random.uniform(0, 0.4))
        time.sleep(random.uniform(0.06, 0.12))


if __name__ == "__main__":
    main()
