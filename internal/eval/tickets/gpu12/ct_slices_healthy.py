"""Slices of a body are put together from what a CT scanner measures while it turns, with jax: each row of the detector
is filtered and smeared back over the picture under the angle at which the gantry stood. Which places of the row the
points of the picture fall on depends on the angle only, and is the same for all rows, so it is remembered for a while.

ticket: practice
class: none
"""

import functools
import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

SIDE, CELLS, ROWS, STEP = 384, 512, 4, 2.5


@jax.jit
def project(angle):
    """The cell of the detector under each point of the picture, as a number with a fraction."""
    line = jnp.linspace(-1.0, 1.0, SIDE)
    return (jnp.cos(angle) * line[None, :] + jnp.sin(angle) * line[:, None] + 1.5) * (CELLS - 1) / 3


@jax.jit
def smear(picture, row, places):
    """Adds a row to a picture."""
    spectrum = jnp.fft.rfft(row)
    filtered = jnp.fft.irfft(spectrum * jnp.linspace(0.0, 1.0, CELLS // 2 + 1), CELLS)
    low = jnp.clip(places.astype(jnp.int32), 0, CELLS - 2)
    part = places - low
    return picture + (1 - part) * filtered[low] + part * filtered[low + 1]


class Scanner:
    """A gantry that turns about a body, not quite evenly."""

    def __init__(self):
        self.angle = 0.0
        self.organs = [(random.uniform(-0.5, 0.5), random.uniform(-0.5, 0.5), random.uniform(0.05, 0.3),
                        random.uniform(0.2, 1.0)) for _ in range(8)]

    def turn(self):
        """Moves on, and says what the encoder says."""
        self.angle += STEP + random.gauss(0, 0.05)
        return round(self.angle % 360, 3)

    def measure(self, angle, slice_number):
        """What a row of the detector sees."""
        turned = np.deg2rad(angle)
        across = np.linspace(-1.5, 1.5, CELLS)
        row = np.zeros(CELLS)
        for x, y, size, dense in self.organs:
            size = size * (1 - 0.1 * slice_number)
            from_middle = across - (x * np.cos(turned) + y * np.sin(turned))
            row += 2 * dense * np.sqrt(np.clip(size * size - from_middle ** 2, 0, None))
        return jnp.asarray(row + np.random.normal(0, 0.005, CELLS), jnp.float32)

    @functools.lru_cache(maxsize=16)
    def footprint(self, angle):
        return project(jnp.deg2rad(angle))


def main():
    scanner, pictures = Scanner(), [jnp.zeros((SIDE, SIDE)) for _ in range(ROWS)]
    end, views = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        angle = scanner.turn()
        for number in range(ROWS):
            pictures[number] = smear(pictures[number], scanner.measure(angle, number), scanner.footprint(angle))
        views += 1
        if views % 72 == 0:
            middle = pictures[0][SIDE // 4:-SIDE // 4, SIDE // 4:-SIDE // 4]
            print("view", views, "at", angle, "degrees, contrast", round(float(middle.std() / views), 5), flush=True)
            pictures = [0.5 * picture for picture in pictures]
        time.sleep(random.uniform(0.01, 0.12))


if __name__ == "__main__":
    main()
