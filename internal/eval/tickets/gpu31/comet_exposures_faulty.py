"""A watcher of a telescope's camera. An exposure is opened when the shutter opens; its short frames come in one by one,
are shifted along the comet's way and added up with JAX. An exposure is closed in an orderly way even if the watcher is
stopped amid it, for which the night has an exit stack.

ticket: practice
class: host-growth
holder: night ExitStack _exit_callbacks Exposure
cause: callbacks-left registered-for-the-end
"""

import os
import random
import time
from contextlib import ExitStack

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

SIZE, FRAMES = 320, 12


@jax.jit
def add_up(frames, motion):
    """The mean of the frames, each one shifted back by the comet's motion until then."""

    def shifted(number, frame):
        shift = jnp.round(number * motion).astype(jnp.int32)
        return jnp.roll(frame, -shift, axis=(0, 1))

    numbers = jnp.arange(frames.shape[0])
    aligned = jax.vmap(shifted)(numbers, frames)
    return jnp.mean(aligned - jnp.median(aligned, axis=(1, 2), keepdims=True), axis=0)


class Camera:
    """A comet that moves over the stars, under the noise of the camera."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.motion = np.array([1.5, -0.8], dtype=np.float32)
        self.stars = np.zeros((SIZE, SIZE), dtype=np.float32)
        places = self.random.integers(SIZE, size=(2, 200))
        self.stars[places[0], places[1]] = self.random.uniform(5, 50, size=200)

    def frame(self, number):
        picture = self.stars + self.random.standard_normal((SIZE, SIZE), dtype=np.float32)
        down, right = (SIZE // 2 + np.round(number * self.motion)).astype(int)
        picture[down - 2:down + 3, right - 2:right + 3] += 3
        return picture


class Exposure:
    def __init__(self, number, camera):
        self.number, self.camera = number, camera
        self.frames = np.zeros((FRAMES, SIZE, SIZE), dtype=np.float32)  # grows
        self.taken = 0

    def __enter__(self):
        self.open = True
        return self

    def __exit__(self, *failure):
        self.open = False
        if self.taken < FRAMES:
            print(f"exposure {self.number} was stopped at frame {self.taken}", flush=True)

    def take(self):
        self.frames[self.taken] = self.camera.frame(self.taken)
        self.taken += 1

    def stack(self):
        return add_up(jnp.asarray(self.frames[:self.taken]), jnp.asarray(self.camera.motion))


def expose(number, camera, night):
    """The brightness of the comet, from an exposure of its own."""
    exposure = night.enter_context(Exposure(number, camera))  # keeps
    for _ in range(FRAMES):
        exposure.take()
        time.sleep(0.01)
    picture = exposure.stack()
    return float(picture[SIZE // 2 - 2:SIZE // 2 + 3, SIZE // 2 - 2:SIZE // 2 + 3].sum())


def main():
    camera, number = Camera(11), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    with ExitStack() as night:
        while time.time() < end:
            brightness = expose(number, camera, night)
            number += 1
            if number % 10 == 0:
                print(f"{number} exposures, brightness {brightness:.1f}", flush=True)
            time.sleep(random.uniform(0.05, 0.3))


if __name__ == "__main__":
    main()
