"""Which of many genes go with an illness is asked of some patients, by Hamiltonian Monte Carlo in jax. The metric of
the sampler is dense, and goes on being fitted to where the chain has been; it is a part of the sampler's state, and
the states are kept for the summary.

ticket: pyro-ppl/numpyro#539
class: app-leak
holder: chain states
cause: results-kept buffer-without-bound
"""

import os
import random
import time
from typing import NamedTuple

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

GENES, PATIENTS, LEAPS = 320, 500, 12


class Metric(NamedTuple):
    mean: jax.Array
    covariance: jax.Array
    count: jax.Array


class State(NamedTuple):
    weights: jax.Array
    potential: jax.Array
    metric: Metric
    step_size: jax.Array
    accepted: jax.Array


def data(seed=4):
    luck = np.random.default_rng(seed)
    together = luck.normal(0, 1, (PATIENTS, 20)) @ luck.normal(0, 1, (20, GENES)) / 5
    genes = together + luck.normal(0, 1, (PATIENTS, GENES))
    weights = np.where(luck.random(GENES) < 0.05, luck.normal(0, 1.5, GENES), 0)
    ill = luck.random(PATIENTS) < 1 / (1 + np.exp(-genes @ weights))
    return jnp.asarray(genes, jnp.float32), jnp.asarray(ill, jnp.float32)


def potential(weights, genes, ill):
    """What is against some weights: the patients, and a prior with long tails."""
    logits = genes @ weights
    return jnp.sum(jnp.logaddexp(0, logits) - ill * logits) + jnp.sum(jnp.log1p((weights / 0.3) ** 2))


@jax.jit
def sample(state, key, genes, ill):
    """One step of the chain: some leaps along the slope, and then stay there or go back."""
    keys = jax.random.split(key, 3)
    inverse = state.metric.covariance + 1e-4 * jnp.eye(GENES)
    root = jnp.linalg.cholesky(inverse)
    momentum = jax.scipy.linalg.solve_triangular(root.T, jax.random.normal(keys[0], (GENES,)), lower=False)
    size = state.step_size * jax.random.uniform(keys[1], minval=0.7, maxval=1.3)

    def leap(_, moving):
        slope, (weights, momentum) = jax.grad(potential), moving
        momentum = momentum - 0.5 * size * slope(weights, genes, ill)
        weights = weights + size * inverse @ momentum
        return weights, momentum - 0.5 * size * slope(weights, genes, ill)

    weights, late = jax.lax.fori_loop(0, LEAPS, leap, (state.weights, momentum))
    before = state.potential + 0.5 * momentum @ inverse @ momentum
    after = potential(weights, genes, ill)
    chance = jnp.nan_to_num(jnp.exp(jnp.minimum(0.0, before - after - 0.5 * late @ inverse @ late)))
    accepted = jax.random.uniform(keys[2]) < chance
    weights = jnp.where(accepted, weights, state.weights)
    away = weights - state.metric.mean
    share = 1 / (state.metric.count + 50)
    metric = Metric(state.metric.mean + share * away,
                    (1 - share) * state.metric.covariance + share * jnp.outer(away, away), state.metric.count + 1)
    return State(weights, jnp.where(accepted, after, state.potential), metric,
                 state.step_size * jnp.exp(0.05 * (chance - 0.75)), accepted)


def summary(chain):
    """How often steps were taken lately, and which genes stand out."""
    late = chain[-200:]
    weights = np.stack([np.asarray(state.weights) for state in late])
    sure = np.abs(weights.mean(0)) / (weights.std(0) + 0.05)
    return sum(bool(state.accepted) for state in late) / len(late), np.argsort(-sure)[:5].tolist()


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    genes, ill = data()
    start = jnp.zeros(GENES)
    metric = Metric(start, 0.05 * jnp.eye(GENES), jnp.float32(0))
    state = State(start, potential(start, genes, ill), metric, jnp.float32(0.1), jnp.bool_(True))
    chain, key, steps = [], jax.random.PRNGKey(0), 0
    while time.time() < end:
        key, now = jax.random.split(key)
        state = sample(state, now, genes, ill)  # grows
        chain.append(state)  # keeps
        steps += 1
        if steps % 50 == 0:
            taken, genes_found = summary(chain)
            print("step", steps, "taken", round(taken, 2), "genes", genes_found, flush=True)
        time.sleep(random.uniform(0.02, 0.06))


if __name__ == "__main__":
    main()
