"""The step of a schedule is a static argument, so that each step compiles the update anew.

ticket: mlaux1/rl-blox#157
class: host-growth
cause: compiled-functions-kept per-shape-compile-cache
"""

import functools
import os
import time

import jax
import jax.numpy as jnp

END = time.time() + float(os.environ.get("SECONDS", "40"))


@functools.partial(jax.jit, static_argnames=("step",))
def update(policy, batch, step):
    def loss(p):
        return jnp.mean((batch @ p) ** 2) * (0.99 ** step)

    gradient = jax.grad(loss)(policy)
    return policy - 0.01 * gradient


class Learner:
    def __init__(self):
        self.policy = jnp.ones((32, 8))
        self.steps = 0

    def learn(self, batch):
        self.steps += 1
        self.policy = update(self.policy, batch, step=self.steps)  # grows


learner = Learner()
while time.time() < END:
    learner.learn(jnp.ones((16, 32)))
    time.sleep(0.05)
