"""A potential is trained on the device with batches that compiled code calls for from the host. Every now
and then new configurations are drawn and make a new data set, with a loader of its own.
The handler of the calls knows the loaders of all data sets that there were.

ticket: tummfm/jax-sgmc#26
class: host-growth
holder: loaders handler
cause: cache-without-bound callbacks-left snapshots-kept results-kept
"""

import argparse
import logging
import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback

log = logging.getLogger("sgmc")


class NumpyLoader:
    """Holds a data set and draws batches from it."""

    def __init__(self, positions, energies, batch, seed):
        self.positions, self.energies, self.batch = positions.copy(), energies.copy(), batch  # grows
        self.rng = np.random.default_rng(seed)

    def draw(self):
        chosen = self.rng.integers(0, len(self.positions), self.batch)
        return self.positions[chosen], self.energies[chosen]


class CallHandler:
    """Answers the calls of compiled code, which know their loader by its number."""

    def __init__(self):
        self.loaders, self.calls, self.next = {}, 0, 0

    def register(self, loader):
        self.next += 1
        self.loaders[self.next] = loader  # keeps
        return self.next

    def answer(self, number):
        self.calls += 1
        return self.loaders[int(np.asarray(number))].draw()


class Sampler:
    """Draws configurations with a random walk, as a simulation would."""

    def __init__(self, atoms, seed=0):
        self.rng, self.atoms = np.random.default_rng(seed), atoms
        self.state = self.rng.normal(size=(atoms * 3,)).astype(np.float32)

    def run(self, count):
        positions = np.empty((count, self.atoms * 3), np.float32)
        for i in range(count):
            self.state = 0.99 * self.state + 0.1 * self.rng.normal(size=self.state.shape).astype(np.float32)
            positions[i] = self.state
        return positions, np.square(positions).sum(axis=1) * 0.5


def make_step(handler, batch, width):
    shapes = (jax.ShapeDtypeStruct((batch, width), jnp.float32), jax.ShapeDtypeStruct((batch,), jnp.float32))

    def energy(params, x):
        return (jnp.tanh(x @ params["w1"]) @ params["w2"])[:, 0]

    @jax.jit
    def step(params, number, rate):
        x, wanted = io_callback(handler.answer, shapes, number, ordered=False)
        loss, grads = jax.value_and_grad(lambda p: jnp.mean((energy(p, x) - wanted) ** 2))(params)
        return jax.tree_util.tree_map(lambda p, g: p - rate * g, params, grads), loss

    return step


def train(options):
    handler, sampler = CallHandler(), Sampler(options.atoms)
    width = options.atoms * 3
    k1, k2 = jax.random.split(jax.random.PRNGKey(1))
    params = {"w1": jax.random.normal(k1, (width, 256)) * 0.05, "w2": jax.random.normal(k2, (256, 1)) * 0.05}
    step = make_step(handler, options.batch, width)
    end, round_number = time.time() + options.seconds, 0
    while time.time() < end:
        positions, energies = sampler.run(random.randint(options.draws // 2, options.draws))
        loader = NumpyLoader(positions, energies, options.batch, round_number)
        number = handler.register(loader)
        del positions, energies, loader
        stop = min(end, time.time() + random.uniform(0.6, 1.8))
        while time.time() < stop:
            params, loss = step(params, number, 1e-5)
            loss.block_until_ready()
            time.sleep(options.pause)
        round_number += 1
        log.info("round %d: loss %.4f after %d calls", round_number, float(loss), handler.calls)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--atoms", type=int, default=400)
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--pause", type=float, default=0.03)
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("SECONDS", "40")))
    logging.basicConfig(level=logging.INFO)
    logging.getLogger("jax").setLevel(logging.WARNING)
    train(parser.parse_args())


if __name__ == "__main__":
    main()
