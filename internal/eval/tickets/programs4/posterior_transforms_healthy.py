"""Samples of a posterior are transformed after each chain by a function that is compiled and kept.
It is the same for all chains.

ticket: pyro-ppl/numpyro#860
class: none
"""

import os
import random
import time

import jax
import jax.numpy as jnp
import numpy as np


def to_interval(samples, low=-1.0, high=1.0):
    return low + (high - low) * jax.nn.sigmoid(samples)


class Chains:
    def __init__(self):
        self.moments = []
        self.made = dict()

    def post_process(self):
        function = to_interval
        if function not in self.made:
            self.made[function] = jax.jit(jax.vmap(function))
        return self.made[function]

    def run(self, key):
        state, kept = jnp.zeros(16), []
        for _ in range(20):
            key, step = jax.random.split(key)
            proposal = state + 0.5 * jax.random.normal(step, (16,))
            ratio = 0.5 * float(jnp.sum(state ** 2) - jnp.sum(proposal ** 2))
            if np.log(random.random()) < ratio:
                state = proposal
            kept.append(state)
        return self.post_process()(jnp.stack(kept))


def main():
    end, chains, count = time.time() + float(os.environ.get("SECONDS", "45")), Chains(), 0
    mean = 0.0
    while time.time() < end:
        samples = chains.run(jax.random.PRNGKey(count))
        mean += (float(samples.mean()) - mean) / (count + 1)
        count += 1
        if count % 20 == 0:
            print("chains %d mean %.4f" % (count, mean), flush=True)
        time.sleep(random.uniform(0.0, 0.05))


if __name__ == "__main__":
    main()
