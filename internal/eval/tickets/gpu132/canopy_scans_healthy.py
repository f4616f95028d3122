"""Canopy density from the laser scanner of a vineyard robot.

A robot drives between two rows of vines and scans the leaf wall on its right. The scanner has a fixed pattern of its
own, which is measured over the first scans and taken off from then on. The latest scans are merged to a map of leaf
density, by which the sprayer opens and closes its nozzles.

ticket: practice
class: none
"""
import os
import time
from collections import deque

import jax
import jax.numpy as jnp

HEIGHT, LENGTH = 384, 512
SCANS_PER_SECOND = 8
WINDOW = 24
CALIBRATION_SCANS = 12
MERGED = 6


@jax.jit
def sweep(key, position, pattern):
    """One synthetic scan: a wall of leaves with gaps, the scanner's pattern, and noise."""
    along = position + jnp.arange(LENGTH, dtype=jnp.float32) * 0.02
    up = jnp.linspace(0.0, 1.0, HEIGHT, dtype=jnp.float32)
    wall = 0.5 + 0.3 * jnp.sin(along)[None, :] * jnp.cos(3.0 * up)[:, None]
    noise = 0.1 * jax.random.normal(key, (HEIGHT, LENGTH), dtype=jnp.float32)
    return wall + pattern + noise


@jax.jit
def level(scan, offset):
    return jnp.clip(scan - offset, 0.0, 2.0)


@jax.jit
def pattern_of(stack):
    mean = stack.mean(axis=0)
    return mean - mean.mean(axis=1, keepdims=True)


@jax.jit
def merge(density, stack):
    fresh = jnp.median(stack, axis=0)
    return 0.8 * density + 0.2 * fresh


@jax.jit
def nozzle_bands(density):
    return density.reshape(8, HEIGHT // 8, LENGTH).mean(axis=(1, 2))


class Scanner:
    """Moves along the row and returns raw scans."""

    def __init__(self, seed):
        self._key = jax.random.PRNGKey(seed)
        self._key, sub = jax.random.split(self._key)
        self._pattern = 0.05 * jax.random.normal(sub, (1, LENGTH), dtype=jnp.float32)
        self.position = 0.0

    def scan(self):
        self._key, sub = jax.random.split(self._key)
        self.position += 0.15
        return sweep(sub, self.position, self._pattern)


class CanopyMap:
    """Window of the latest scans and the density that follows from them."""

    def __init__(self, window):
        self.window = window
        self.scans = deque(maxlen=window)
        self.offset = jnp.zeros((HEIGHT, LENGTH), dtype=jnp.float32)
        self.density = jnp.full((HEIGHT, LENGTH), 0.5, dtype=jnp.float32)
        self.calibrated = False

    def add(self, raw):
        self.scans.append(level(raw, self.offset))
        if not self.calibrated and len(self.scans) == CALIBRATION_SCANS:
            self.calibrate()
        if len(self.scans) >= MERGED:
            latest = [self.scans[-i] for i in range(1, MERGED + 1)]
            self.density = merge(self.density, jnp.stack(latest))

    def calibrate(self):
        """The pattern of the scanner is known now; scans from before are levelled like those to come."""
        self.offset = pattern_of(jnp.stack(list(self.scans)))
        self.scans = deque((level(scan, self.offset) for scan in self.scans), maxlen=self.window)
        self.calibrated = True


class Sprayer:
    """Nozzles one above the other, open where there are leaves to be reached."""

    def __init__(self, threshold=0.45):
        self.threshold = threshold
        self.switched = 0
        self._open = [False] * 8

    def set_nozzles(self, bands):
        wanted = [float(band) > self.threshold for band in jax.device_get(bands)]
        self.switched += sum(a != b for a, b in zip(wanted, self._open))
        self._open = wanted
        return sum(wanted)


def main():
    seconds = float(os.environ.get("SECONDS", "120"))
    scanner = Scanner(seed=14)
    canopy = CanopyMap(WINDOW)
    sprayer = Sprayer()

    start = time.monotonic()
    next_line = start + 3.0
    count = 0
    while time.monotonic() - start < seconds:
        canopy.add(scanner.scan())
        nozzles = sprayer.set_nozzles(nozzle_bands(canopy.density))
        count += 1
        if time.monotonic() >= next_line:
            print(f"{scanner.position:.1f} m along the row: {nozzles} of 8 nozzles open", flush=True)
            next_line += 3.0
        time.sleep(max(0.0, start + count / SCANS_PER_SECOND - time.monotonic()))
    print(f"sprayed {scanner.position:.1f} m with {sprayer.switched} switches of nozzles", flush=True)


if __name__ == "__main__":
    main()
