"""Learns in JAX to name an organ's rank of pipes by the spectrum of one note. Some recordings are spoilt by the blower,
and a batch of those throws the weights off. So the state is set down every few steps, and when the loss jumps the run
goes back to the state that was set down last.

ticket: practice
class: app-leak
holder: Rollback states
cause: snapshots-kept
"""

import os
import random
import time
from functools import partial

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

BINS, WIDTH, RANKS, BATCH = 256, 448, 14, 64
EVERY, JUMP = 6, 3.0


class Rollback:
    """The states to which a run can go back."""

    states = []

    @classmethod
    def note(cls, step, state):
        cls.states.append((step, state))  # keeps

    @classmethod
    def last(cls):
        return cls.states[-1]


def layer(key, before, after):
    return {"w": jax.random.normal(key, (before, after)) / before ** 0.5, "b": jnp.zeros(after)}


def fresh_state(seed):
    keys = jax.random.split(jax.random.PRNGKey(seed), 3)
    sizes = (BINS, WIDTH), (WIDTH, WIDTH), (WIDTH, RANKS)
    weights = [layer(key, *size) for key, size in zip(keys, sizes)]
    zeros = jax.tree_util.tree_map(jnp.zeros_like, weights)
    return {"weights": weights, "first": zeros, "second": zeros, "step": jnp.zeros((), jnp.int32)}


def loss_of(weights, spectra, ranks):
    hidden = spectra
    for each in weights[:-1]:
        hidden = jax.nn.relu(hidden @ each["w"] + each["b"])
    scores = jax.nn.log_softmax(hidden @ weights[-1]["w"] + weights[-1]["b"])
    return -jnp.take_along_axis(scores, ranks[:, None], axis=1).mean()


@partial(jax.jit, static_argnames="rate")
def update(state, spectra, ranks, rate=1e-3):
    """One step of Adam."""
    loss, slopes = jax.value_and_grad(loss_of)(state["weights"], spectra, ranks)
    step = state["step"] + 1
    first = jax.tree_util.tree_map(lambda m, g: 0.9 * m + 0.1 * g, state["first"], slopes)
    second = jax.tree_util.tree_map(lambda v, g: 0.99 * v + 0.01 * g * g, state["second"], slopes)

    def move(w, m, v):
        return w - rate * (m / (1 - 0.9 ** step)) / (jnp.sqrt(v / (1 - 0.99 ** step)) + 1e-8)

    weights = jax.tree_util.tree_map(move, state["weights"], first, second)
    return {"weights": weights, "first": first, "second": second, "step": step}, loss


def recordings(rng, centres):
    """Spectra of some notes and the ranks they come from; once in a while a batch is spoilt."""
    ranks = rng.integers(RANKS, size=BATCH)
    spectra = centres[ranks] + rng.normal(size=(BATCH, BINS))
    spoilt = 40.0 if random.random() < 0.01 else 1.0
    return (spoilt * spectra).astype(np.float32), ranks.astype(np.int32)


def main():
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(RANKS, BINS))
    state, usual, back = fresh_state(0), None, 0
    end, step = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        if step % EVERY == 0:
            Rollback.note(step, state)
        state, loss = update(state, *recordings(rng, centres))  # grows
        step, loss = step + 1, float(loss)
        if usual is not None and loss > JUMP * usual + 1.0:
            since, state = Rollback.last()
            back += step - since
        else:
            usual = loss if usual is None else 0.95 * usual + 0.05 * loss
        if step % 50 == 0:
            print(f"step {step}: loss {usual:.4f}, {back} steps undone", flush=True)
        time.sleep(0.05)


if __name__ == "__main__":
    main()
