"""Names the moths on the pictures of light traps. Some verdicts are looked over by an entomologist, who also wants to
see which pixels were decisive: so the pullback of each verdict is kept at hand and is called when somebody asks for
the saliency, which costs far less than to run the model a second time.

ticket: practice
class: app-leak
holder: pending Desk verdict pull
cause: closure-kept cache-without-bound
"""

import os
import random
import time
from functools import partial
from typing import NamedTuple

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

BATCH, SIDE, SPECIES = 4, 64, 40
CHANNELS = 3, 16, 32
RECENT = 8


class Verdict(NamedTuple):
    species: jax.Array
    score: jax.Array
    pull: object


def make_params(key):
    params = {}
    for number, (inner, outer) in enumerate(zip(CHANNELS, CHANNELS[1:])):
        key, part = jax.random.split(key)
        params[f"conv{number}"] = jax.random.normal(part, (3, 3, inner, outer)) / (9 * inner) ** 0.5
    params["head"] = jax.random.normal(key, (CHANNELS[-1], SPECIES)) / CHANNELS[-1] ** 0.5
    return params


@jax.jit
def top_score(params, pictures):
    """The sum of the best scores, and the species that have them."""
    hidden = pictures
    for number in range(len(CHANNELS) - 1):
        hidden = jax.lax.conv_general_dilated(
            hidden, params[f"conv{number}"], (1 + number, 1 + number), "SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )
        hidden = jax.nn.silu(hidden)
    scores = hidden.mean(axis=(1, 2)) @ params["head"]
    return scores.max(axis=1).sum(), scores.argmax(axis=1)


class Desk:
    """Gives verdicts, and explains them on demand."""

    def __init__(self, params):
        self.params = params
        self.pending = {}

    def judge(self, number, pictures):
        score, pull, species = jax.vjp(partial(top_score, self.params), pictures, has_aux=True)  # grows
        self.pending[number] = Verdict(species, score, pull)  # keeps
        return species

    def explain(self, number):
        """How much each pixel counted, for a verdict that was not explained yet."""
        verdict = self.pending.pop(number)
        (saliency,) = verdict.pull(jnp.ones_like(verdict.score))
        return jnp.abs(saliency).max(axis=-1)


def main():
    random_numbers = np.random.default_rng(5)
    desk, traps, explained = Desk(make_params(jax.random.PRNGKey(0))), 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        pictures = random_numbers.random((BATCH, SIDE, SIDE, CHANNELS[0]), dtype=np.float32)
        species = desk.judge(traps, jnp.asarray(pictures))
        if random.random() < 0.15:
            asked = random.choice([number for number in desk.pending if number > traps - RECENT])
            decisive = desk.explain(asked)
            explained += 1
            print(f"trap {asked}: the strongest pixel counts {float(decisive.max()):.5f}", flush=True)
        traps += 1
        if traps % 20 == 0:
            print(traps, "traps,", explained, "explained, last species", species.tolist(), flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
