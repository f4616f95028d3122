"""Two dyes spread in a tank, react and make patterns (Gray and Scott). A tank is run for a while with its own feed and
kill rate, its contrast is measured, and the next tank is set up with other rates. The rates belong to the tank, so the
step is a method of the tank that is compiled with the tank itself as a static argument.

ticket: jax-ml/jax#16226
class: app-leak
holder: jit spread cache static Tank
cause: compile-cache compiled-functions-kept
"""

import os
import random
import time
from functools import partial

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

SIDE, STEPS, ROUNDS = 768, 20, 4


def laplacian(dye):
    neighbours = sum(jnp.roll(dye, shift, axis) for shift in (-1, 1) for axis in (0, 1))
    return 0.2 * neighbours - 0.8 * dye


class Tank:
    def __init__(self, feed, kill):
        self.feed, self.kill = feed, kill
        dyes = np.zeros((2, SIDE, SIDE), np.float32)
        dyes[0] = 1.0
        for _ in range(30):
            row, column = np.random.randint(0, SIDE - 24, 2)
            dyes[:, row : row + 24, column : column + 24] = [[[0.5]], [[0.25]]]
        self.dyes = jnp.asarray(dyes)

    @partial(jax.jit, static_argnums=0)
    def spread(self, dyes):
        def step(_, dyes):
            food, eater = dyes
            eaten = food * eater**2
            food = food + 0.8 * laplacian(food) - eaten + self.feed * (1 - food)
            eater = eater + 0.4 * laplacian(eater) + eaten - (self.feed + self.kill) * eater
            return jnp.stack([food, eater])

        return jax.lax.fori_loop(0, STEPS, step, dyes)

    def run(self):
        self.dyes = self.spread(self.dyes)  # grows keeps

    def contrast(self):
        return float(self.dyes[1].std())


def main():
    tanks = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        tank = Tank(feed=random.uniform(0.02, 0.06), kill=random.uniform(0.055, 0.065))
        for _ in range(ROUNDS):
            tank.run()
        tanks += 1
        contrast = tank.contrast()
        if tanks % 5 == 0:
            print(f"tank {tanks}: feed {tank.feed:.4f}, kill {tank.kill:.4f}, contrast {contrast:.4f}", flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
