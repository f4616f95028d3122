"""Finds where a robot is in a sewer. For each section of pipe the drawing is put on the device as a grid of distances
to the wall; guesses of the robot's pose are scored against its sonar there and drawn anew by their scores. When the
robot passes the manhole at the end of a section, the next drawing is loaded.

ticket: jax-ml/jax#16226
class: app-leak
holder: Section score grid jit
cause: compiled-functions-kept compile-cache
"""

import os
import random
import time
from functools import partial

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

HEIGHT, LENGTH, CELL = 512, 3072, 0.02
BEAMS, GUESSES, SCANS = 32, 2048, 6
ANGLES = np.linspace(0, 2 * np.pi, BEAMS, endpoint=False, dtype=np.float32)


class Section:
    """A section of pipe between two manholes."""

    def __init__(self, number, seed):
        self.number = number
        self.grid = jnp.asarray(drawing(seed))  # grows

    @partial(jax.jit, static_argnums=0)
    def score(self, poses, sonar):
        """How well each pose (x, y, heading) explains the ranges of the sonar: ends of beams lie on the wall."""
        angles = poses[:, 2:] + ANGLES
        x = poses[:, :1] + sonar * jnp.cos(angles)
        y = poses[:, 1:2] + sonar * jnp.sin(angles)
        column = jnp.clip(x / CELL, 0, LENGTH - 1).astype(jnp.int32)
        row = jnp.clip(y / CELL + HEIGHT / 2, 0, HEIGHT - 1).astype(jnp.int32)
        return -50.0 * jnp.square(self.grid[row, column]).mean(axis=1)


def drawing(seed):
    """The distance of each cell to the wall of a pipe whose width changes a little."""
    rng = np.random.default_rng(seed)
    along = np.arange(LENGTH) * CELL
    radius = 2.5 + 0.4 * np.sin(along * rng.uniform(0.2, 0.6) + rng.uniform(0, 6))
    across = (np.arange(HEIGHT) - HEIGHT / 2) * CELL
    return np.abs(np.abs(across)[:, None] - radius).astype(np.float32)


@jax.jit
def redraw(key, poses, scores, step):
    """Poses drawn by their scores, moved by the odometry with some noise."""
    key, choose, shake = jax.random.split(key, 3)
    chosen = poses[jax.random.categorical(choose, scores, shape=(GUESSES,))]
    noise = jax.random.normal(shake, poses.shape) * jnp.array([0.05, 0.05, 0.02])
    return key, chosen + noise + jnp.array([1.0, 0.0, 0.0]) * step


def start(rng):
    poses = rng.normal(0, [0.3, 0.5, 0.1], (GUESSES, 3)).astype(np.float32)
    return jnp.asarray(poses + np.float32([2.0, 0, 0]))


def ping(rng):
    """The ranges that the sonar gives near the middle of the pipe."""
    wall = np.abs(2.5 / np.maximum(np.abs(np.sin(ANGLES)), 0.2))
    return jnp.asarray((wall + rng.normal(0, 0.05, BEAMS)).astype(np.float32))


def main():
    rng, key, passed = np.random.default_rng(1), jax.random.PRNGKey(0), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        section = Section(passed, random.randrange(1 << 30))  # grows
        poses = start(rng)
        for _ in range(SCANS):
            scores = section.score(poses, ping(rng))  # grows keeps
            key, poses = redraw(key, poses, scores, 0.5)
            time.sleep(random.uniform(0.02, 0.08))
        passed += 1
        if passed % 4 == 0:
            x, y = np.asarray(poses).mean(axis=0)[:2]
            print(f"section {section.number}: at {x:.2f} m, {y:+.2f} m off the middle", flush=True)


if __name__ == "__main__":
    main()
