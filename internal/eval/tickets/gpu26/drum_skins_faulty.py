"""Sounds of drums, for a sample library. A stroke is a wave on a round skin, solved along the radius with an implicit
step whose matrices depend on the grid alone. A hard stroke with a small stick needs a grid that is finer in the
middle, so the grid's stretch follows from the stroke; the stepper for a stretch is made once and used again.

ticket: practice
class: app-leak
holder: steppers Workshop workshop inverse spread advance
cause: cache-without-bound closure-kept
"""

import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

POINTS, MOMENTS, DT, MOST_STRETCH = 800, 400, 2e-3, 1.6


@jax.jit
def vibrate(spread, inverse, skin, velocity, damping):
    """Crank and Nicolson through all moments; returns the sound at the rim."""

    def moment(carry, _):
        skin, velocity = carry
        ahead = spread @ skin + DT * (inverse @ velocity)
        velocity = (1 - damping * DT) * (2 / DT * (ahead - skin) - velocity)
        return (ahead, velocity), ahead[-1] - ahead[-8]

    return jax.lax.scan(moment, (skin, velocity), length=MOMENTS)[1]


def radii(stretch):
    """The edges of the rings of the grid, and their middles."""
    edges = np.linspace(0, 1, POINTS + 1) ** stretch
    return edges, (edges[1:] + edges[:-1]) / 2


def matrices(stretch):
    """The two matrices of the implicit step on a skin that is fixed at the rim."""
    edges, middles = radii(stretch)
    flow = edges[1:] / np.diff(np.append(middles, 1.0))
    area = middles * np.diff(edges)
    laplacian = np.diag(-(flow + np.append(0.0, flow[:-1])) / area)
    laplacian += np.diag(flow[:-1] / area[:-1], 1) + np.diag(flow[:-1] / area[1:], -1)
    half = 0.25 * DT ** 2 * laplacian
    inverse = np.linalg.inv(np.eye(POINTS) - half)
    return inverse @ (np.eye(POINTS) + half), inverse


class Workshop:
    """Steppers by the stretch of their grid."""

    def __init__(self):
        self.steppers = {}

    def make(self, stretch):
        spread, inverse = (jnp.asarray(matrix, jnp.float32) for matrix in matrices(stretch))  # grows

        def advance(skin, velocity, damping):
            return vibrate(spread, inverse, skin, velocity, damping)

        return advance

    def stepper(self, stretch):
        if stretch not in self.steppers:
            self.steppers[stretch] = self.make(stretch)  # keeps
        return self.steppers[stretch]

    def strike(self, hardness, place, damping):
        """The sound of one stroke."""
        stretch = 1 + (MOST_STRETCH - 1) * hardness
        middles = jnp.asarray(radii(stretch)[1], jnp.float32)
        velocity = -jnp.exp(-((middles - place) * (8 + 40 * hardness)) ** 2)
        sound = self.stepper(stretch)(jnp.zeros(POINTS), velocity, damping)
        return np.asarray(sound), stretch


def main():
    workshop, strokes = Workshop(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        hardness, place = random.random(), random.uniform(0.0, 0.8)
        sound, stretch = workshop.strike(hardness, place, random.uniform(0.5, 5.0))
        strokes += 1
        if strokes % 10 == 0:
            pitch, loud = np.abs(np.fft.rfft(sound))[1:].argmax() + 1, np.abs(sound).max()
            print(f"{strokes} strokes: stretch {stretch:.2f}, pitch {pitch}, loudness {loud:.2e}", flush=True)
        time.sleep(random.uniform(0.05, 0.3))


if __name__ == "__main__":
    main()
