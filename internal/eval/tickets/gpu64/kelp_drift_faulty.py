"""Measures how kelp drifts in the picture of an underwater camera: the flow between each two frames after Horn and
Schunck. The motion is smooth, so the search starts where the last two flows point when they are carried on.

ticket: practice
class: app-leak
holder: before Estimate last
cause: buffer-without-bound entries-left
"""

import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

HEIGHT, WIDTH, ROUNDS, STIFF = 400, 560, 40, 0.05


class Estimate:
    """The flow between two frames, and the estimate before it."""

    def __init__(self, flow, before=None):
        self.flow = flow
        self.before = before  # keeps

    def outlook(self):
        """Where the next search starts."""
        if self.before is None:
            return self.flow
        return carry_on(self.flow, self.before.flow)


@jax.jit
def carry_on(flow, earlier):
    return flow + 0.5 * (flow - earlier)


def mean_around(field):
    return sum(jnp.roll(field, shift, axis) for shift in (-1, 1) for axis in (1, 2)) / 4


@jax.jit
def horn_schunck(first, second, start):
    down, right = jnp.gradient((first + second) / 2)
    change = second - first
    slope = STIFF + down ** 2 + right ** 2

    def improve(_, flow):
        smooth = mean_around(flow)
        miss = (down * smooth[0] + right * smooth[1] + change) / slope
        return smooth - jnp.stack([down * miss, right * miss])

    return jax.lax.fori_loop(0, ROUNDS, improve, start)


class Camera:
    """Kelp that the swell moves to and fro."""

    def __init__(self):
        rng = np.random.default_rng(5)
        coarse = rng.random((HEIGHT // 8, WIDTH // 8), dtype=np.float32)
        self.rng, self.kelp, self.frames = rng, np.kron(coarse, np.ones((8, 8), np.float32)), 0

    def frame(self):
        self.frames += 1
        sway = round(12 * np.sin(self.frames / 9))
        sink = round(3 * np.cos(self.frames / 14))
        moved = np.roll(self.kelp, (sink, sway), axis=(0, 1))
        return jnp.asarray(moved + 0.02 * self.rng.standard_normal(moved.shape, dtype=np.float32))


def main():
    camera = Camera()
    picture = camera.frame()
    last = Estimate(jnp.zeros((2, HEIGHT, WIDTH), jnp.float32))
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    drift = 0.0
    while time.time() < end:
        following = camera.frame()
        flow = horn_schunck(picture, following, last.outlook())  # grows
        last, picture = Estimate(flow, last), following
        drift += float(flow[1].mean())
        if camera.frames % 20 == 0:
            print(f"frame {camera.frames}: drifted {drift:+.1f} pixels to the right", flush=True)
        time.sleep(random.uniform(0.05, 0.2))


if __name__ == "__main__":
    main()
