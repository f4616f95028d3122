"""A booth at a fair grows a firework for each visitor: two substances react on a grid and spread, and every tick the
visitor sees how bright it has become. Fireworks are generators, so each goes on where it was left. Most visitors walk
off before theirs has burnt out, and the next one is welcomed.

ticket: practice
class: none
"""

import os
import random
import time
from functools import partial

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

SIZE, TICKS, INNER = 640, 12, 16


def spread(grid):
    around = jnp.roll(grid, 1, 0) + jnp.roll(grid, -1, 0) + jnp.roll(grid, 1, 1) + jnp.roll(grid, -1, 1)
    return around / 4 - grid


@partial(jax.jit, static_argnames="steps")
def react(fuel, fire, feed, steps):
    def step(_, state):
        fuel, fire = state
        burnt = fuel * fire * fire
        fuel = fuel + 0.8 * spread(fuel) - burnt + feed * (1 - fuel)
        fire = fire + 0.4 * spread(fire) + burnt - (feed + 0.06) * fire
        return fuel, fire

    return jax.lax.fori_loop(0, steps, step, (fuel, fire))


def burn(seed, feed):
    """Yields the brightness at each tick until the firework has burnt out."""
    key = jax.random.PRNGKey(seed)
    fuel = jnp.ones((SIZE, SIZE))
    fire = (jax.random.uniform(key, (SIZE, SIZE)) < 0.1).astype(jnp.float32) * 0.5
    for _ in range(TICKS):
        fuel, fire = react(fuel, fire, feed, steps=INNER)
        yield float(fire.mean())


class Booth:
    def __init__(self):
        self.fireworks = {}
        self.watching = []
        self.visitors = self.burnt_out = 0

    def welcome(self):
        self.visitors += 1
        self.fireworks[self.visitors] = burn(self.visitors, random.uniform(0.03, 0.05))
        self.watching.append(self.visitors)

    def tick(self):
        """The mean brightness that the visitors see."""
        seen = []
        for visitor in list(self.watching):
            brightness = next(self.fireworks[visitor], None)
            if brightness is None:
                self.watching.remove(visitor)
                del self.fireworks[visitor]
                self.burnt_out += 1
                continue
            seen.append(brightness)
            if random.random() < 0.2:
                self.watching.remove(visitor)
                self.fireworks.pop(visitor).close()
        return sum(seen) / max(len(seen), 1)


def main():
    booth, ticks = Booth(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        if len(booth.watching) < 8:
            booth.welcome()
        brightness = booth.tick()
        ticks += 1
        if ticks % 20 == 0:
            print(
                f"{ticks} ticks, {booth.visitors} visitors, {len(booth.watching)} watch, {booth.burnt_out} burnt out,"
                f" brightness {brightness:.3f}",
                flush=True,
            )
        time.sleep(0.2)


if __name__ == "__main__":
    main()
