"""Weights of a fit in JAX are kept after each few steps, for an average of all of them at the end.

ticket: common practice: snapshots for stochastic weight averaging
class: host-growth
holder: snapshots
cause: snapshots-kept results-kept
"""

import os
import random
import time

import jax
import jax.numpy as jnp


@jax.jit
def step(weights, x):
    gradient = jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w["a"]) @ w["b"] - x) ** 2))(weights)
    return jax.tree_util.tree_map(lambda w, g: w - 0.1 * g, weights, gradient)  # grows


@jax.jit
def mixed(average, weights):
    return jax.tree_util.tree_map(lambda a, w: 0.99 * a + 0.01 * w, average, weights)


def main():
    key = jax.random.PRNGKey(0)
    weights = {"a": jax.random.normal(key, (64, 256)), "b": jax.random.normal(key, (256, 64))}
    average, snapshots, steps = weights, [], 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        key, sub = jax.random.split(key)
        weights = step(weights, jax.random.normal(sub, (32, 64)))
        steps += 1
        if steps % 10 == 0:
            snapshots.append(weights)  # keeps
        if steps % 200 == 0:
            print("step", steps, float(weights["a"][0, 0]), len(snapshots), flush=True)
        time.sleep(random.uniform(0.01, 0.03))
    print(float(average["a"][0, 0]))


if __name__ == "__main__":
    main()
