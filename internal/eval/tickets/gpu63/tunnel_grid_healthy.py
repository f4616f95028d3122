"""Maps a tunnel from the scans of a lidar on a mine cart. Each scan is traced into a grid of log odds; if the grid got
worse by it, because the odometry slipped, the scan is taken back and the grid is again as it was before.

ticket: practice
class: none
"""

import os
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

SIDE, CELL = 576, 0.1
BEAMS, STEPS, REACH = 360, 128, 12.0
HIT, MISS, LIMIT = 0.85, -0.35, 6.0


def cells(points):
    """The row and the column of points that are given in metres."""
    return jnp.clip(jnp.floor(points / CELL).astype(jnp.int32) + SIDE // 2, 0, SIDE - 1)


@jax.jit
def integrate(grid, pose, ranges):
    """The grid with a scan traced into it."""
    angles = pose[2] + jnp.linspace(0.0, 2.0 * jnp.pi, BEAMS, endpoint=False)
    beams = jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=-1)
    ends = cells(pose[:2] + ranges[:, None] * beams)
    along = jnp.linspace(0.0, 0.97, STEPS)[None, :, None] * ranges[:, None, None]
    free = cells(pose[:2] + along * beams[:, None, :]).reshape(-1, 2)
    grid = grid.at[free[:, 0], free[:, 1]].add(MISS / 8.0)
    grid = grid.at[ends[:, 0], ends[:, 1]].add(HIT)
    return jnp.clip(grid, -LIMIT, LIMIT)


@jax.jit
def agreement(grid, pose, ranges):
    """How well the ends of the beams lie on what the grid takes for rock."""
    angles = pose[2] + jnp.linspace(0.0, 2.0 * jnp.pi, BEAMS, endpoint=False)
    ends = cells(pose[:2] + ranges[:, None] * jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=-1))
    return jnp.mean(jnp.tanh(grid[ends[:, 0], ends[:, 1]]))


class Map:
    def __init__(self):
        self.grid = jnp.zeros((SIDE, SIDE), jnp.float32)
        self.before = self.grid

    def add(self, pose, ranges):
        self.before = self.grid
        self.grid = integrate(self.grid, pose, ranges)

    def take_back(self):
        self.grid = self.before


class Cart:
    """The cart goes to and fro in the tunnel; now and then its wheels slip."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.x, self.speed = 0.0, 0.4

    def scan(self):
        if abs(self.x) > 10.0:
            self.speed = -self.speed
        self.x += self.speed
        angles = np.linspace(0.0, 2.0 * np.pi, BEAMS, endpoint=False)
        wall = 2.5 + 0.4 * np.sin(0.9 * self.x + 3.0 * angles)
        ranges = np.minimum(REACH, wall / np.maximum(0.2, np.abs(np.sin(angles))))
        slip = self.rng.normal(0.0, 1.5) if self.rng.random() < 0.05 else 0.0
        pose = np.array([self.x + slip, slip / 2.0, 0.01 * self.rng.normal()], np.float32)
        return pose, (ranges + self.rng.normal(0.0, 0.03, BEAMS)).astype(np.float32)


def main():
    cart, tunnel = Cart(7), Map()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    scans, refused, usual = 0, 0, 0.0
    while time.time() < end:
        pose, ranges = cart.scan()
        tunnel.add(pose, ranges)
        score = float(agreement(tunnel.grid, pose, ranges))
        if scans > 20 and score < usual - 0.3:
            tunnel.take_back()
            refused += 1
        usual = 0.95 * usual + 0.05 * score
        scans += 1
        if scans % 40 == 0:
            print(f"scan {scans}: cart at {cart.x:.1f} m, agreement {usual:.2f}, {refused} taken back", flush=True)
        time.sleep(0.08)


if __name__ == "__main__":
    main()
