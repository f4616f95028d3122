"""A glider learns to soar in a model of the wind, through which its flights are differentiated. The bonus for entropy
and the noise of the controls are annealed after every fourth update. All the settings of an update are in one frozen
record, so that jax.jit can take it as a static argument.

ticket: practice
class: host-growth
holder: -
cause: compiled-functions-kept compile-cache
"""

import dataclasses
import math
import os
import random
import time
from functools import partial

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

STATE, CONTROLS, WIDTH, GLIDERS = 12, 3, 64, 128


@dataclasses.dataclass(frozen=True)
class Settings:
    horizon: int = 6
    rate: float = 3e-3
    drag: float = 0.05
    entropy: float = 0.02
    noise: float = 0.5

    def annealed(self):
        return dataclasses.replace(self, entropy=self.entropy * 0.995, noise=0.05 + (self.noise - 0.05) * 0.99)


def layers(key, *sizes):
    keys = jax.random.split(key, len(sizes) - 1)
    return [(jax.random.normal(k, (before, after)) / math.sqrt(before), jnp.zeros(after))
            for k, before, after in zip(keys, sizes[:-1], sizes[1:])]


def network(params, inputs):
    for weights, bias in params[:-1]:
        inputs = jnp.tanh(inputs @ weights + bias)
    weights, bias = params[-1]
    return inputs @ weights + bias


def soar(wind, state, control, settings):
    """The state of the gliders a moment later. The last number of a state is the height."""
    lift = network(wind, jnp.concatenate([state, control], -1))
    return (1 - settings.drag) * state + 0.1 * jnp.tanh(lift)


def flight_loss(policy, wind, state, key, settings):
    height = entropy = 0.0
    for step in range(settings.horizon):
        outputs = network(policy, state)
        mean, spread = jnp.tanh(outputs[:, :CONTROLS]), jax.nn.softplus(outputs[:, CONTROLS:]) + 0.01
        noise = jax.random.normal(jax.random.fold_in(key, step), mean.shape)
        state = soar(wind, state, mean + settings.noise * spread * noise, settings)
        height += state[:, -1].mean()
        entropy += jnp.log(spread).mean()
    return -(height + settings.entropy * entropy) / settings.horizon


@partial(jax.jit, static_argnames="settings")
def update(policy, wind, key, settings):
    start, noise = jax.random.split(key)
    state = jax.random.normal(start, (GLIDERS, STATE))
    loss, grads = jax.value_and_grad(flight_loss)(policy, wind, state, noise, settings)
    policy = jax.tree_util.tree_map(lambda param, grad: param - settings.rate * grad, policy, grads)
    return policy, loss


def main():
    first, second, key = jax.random.split(jax.random.PRNGKey(1), 3)
    policy = layers(first, STATE, WIDTH, WIDTH, 2 * CONTROLS)
    wind = layers(second, STATE + CONTROLS, WIDTH, STATE)
    settings, updates = Settings(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for _ in range(4):
            key, flight = jax.random.split(key)
            policy, loss = update(policy, wind, flight, settings)  # grows keeps
        settings = settings.annealed()
        updates += 4
        if updates % 40 == 0:
            print(f"{updates} updates, loss {float(loss):.4f}, noise {settings.noise:.3f}", flush=True)
        time.sleep(random.uniform(0.02, 0.08))


if __name__ == "__main__":
    main()
