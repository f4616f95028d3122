"""Rust spreads in magnetic domains: an Ising model with a random field is annealed, reheated and annealed again, to
find the state with the lowest energy. The sweep is compiled once, for any temperature. The best energy is printed.

ticket: practice
class: none
"""

import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

SIDE, UPDATES, COOLING = 384, 4, 0.93
HOTTEST, COLDEST = 3.5, 0.4


def checkerboard():
    row, column = jnp.arange(SIDE)[:, None], jnp.arange(SIDE)[None, :]
    return (row + column) % 2


def pull(spins, field):
    """What the neighbours and the field do to each spin."""
    around = jnp.roll(spins, 1, 0) + jnp.roll(spins, -1, 0) + jnp.roll(spins, 1, 1) + jnp.roll(spins, -1, 1)
    return around + field


@jax.jit
def sweep(spins, field, colours, key, temperature):
    """Some Metropolis updates of each colour of the board."""
    for update in range(UPDATES):
        for colour in (0, 1):
            draw = jax.random.uniform(jax.random.fold_in(key, 2 * update + colour), spins.shape)
            rise = 2.0 * spins * pull(spins, field)
            flip = (draw < jnp.exp(-rise / temperature)) & (colours == colour)
            spins = jnp.where(flip, -spins, spins)
    return spins


@jax.jit
def energy(spins, field):
    bonds = spins * (jnp.roll(spins, 1, 0) + jnp.roll(spins, 1, 1))
    return -(bonds + field * spins).mean()


class Annealer:
    def __init__(self, seed):
        self.key = jax.random.key(seed)
        self.colours = checkerboard()
        self.field = 0.7 * jax.random.normal(self.draw_key(), (SIDE, SIDE))
        self.spins = jnp.where(jax.random.bernoulli(self.draw_key(), 0.5, (SIDE, SIDE)), 1.0, -1.0)
        self.best = float("inf")
        self.reheat()

    def draw_key(self):
        self.key, drawn = jax.random.split(self.key)
        return drawn

    def reheat(self):
        self.temperature = random.uniform(0.6, 1.0) * HOTTEST

    def step(self):
        self.spins = sweep(self.spins, self.field, self.colours, self.draw_key(), self.temperature)
        self.best = min(self.best, float(energy(self.spins, self.field)))
        self.temperature *= COOLING
        if self.temperature < COLDEST:
            self.reheat()


def main():
    annealer, steps = Annealer(seed=3), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        annealer.step()
        steps += 1
        if steps % 10 == 0:
            print(f"step {steps}: temperature {annealer.temperature:.3f}, best energy {annealer.best:.4f}", flush=True)
        time.sleep(random.uniform(0.02, 0.08))


if __name__ == "__main__":
    main()
