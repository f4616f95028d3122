"""A cooperative bank's desk grades loan forms, which come in batches from the branches. A branch may ask why a batch
was graded as it was, mostly soon after it got the grades. Then the desk names the entries of the form that weighed
most, from the gradient; to answer fast, it takes the backward pass of the grading itself.

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
import numpy as np

ENTRIES, WIDTH, FORMS, RECENT = 40, 256, 512, 8
NAMES = [f"entry {number}" for number in range(ENTRIES)]


def weights(key, sizes=(ENTRIES, WIDTH, WIDTH, 1)):
    keys = jax.random.split(key, len(sizes) - 1)
    return [
        (jax.random.normal(key, (inner, outer)) / inner**0.5, jnp.zeros(outer))
        for key, inner, outer in zip(keys, sizes, sizes[1:])
    ]


@jax.jit
def grade(params, forms):
    hidden = forms
    for weight, bias in params[:-1]:
        hidden = jnp.tanh(hidden @ weight + bias)
    weight, bias = params[-1]
    return (hidden @ weight + bias)[:, 0]


class Desk:
    def __init__(self, params):
        self.params = params
        self.pullbacks = {}

    def decide(self, batch, forms):
        """Whether each form of a batch is granted."""
        grades, pullback = jax.vjp(partial(grade, self.params), jnp.asarray(forms))
        self.pullbacks[batch] = pullback
        self.pullbacks.pop(batch - RECENT, None)
        return np.asarray(grades) > 0

    def reasons(self, batch, most=3):
        """The entries that weighed most in a batch, or nothing if it is unknown."""
        pullback = self.pullbacks.get(batch)
        if pullback is None:
            return []
        (slopes,) = pullback(jnp.ones(FORMS))
        weighed = np.abs(np.asarray(slopes)).mean(axis=0)
        return [NAMES[entry] for entry in weighed.argsort()[::-1][:most]]


def forms(noise):
    """A batch of forms. Each branch has its own leanings."""
    return (noise.normal(size=(FORMS, ENTRIES)) + noise.normal(size=ENTRIES)).astype(np.float32)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    noise = np.random.default_rng(7)
    desk = Desk(weights(jax.random.PRNGKey(7)))
    batch, granted = 0, 0
    while time.time() < end:
        granted += int(desk.decide(batch, forms(noise)).sum())
        if random.random() < 0.2:
            asked = max(0, batch - random.randrange(RECENT))
            names = desk.reasons(asked)
            print(f"batch {asked}: {', '.join(names) or 'too old'}", flush=True)
        batch += 1
        if batch % 25 == 0:
            print(f"{batch} batches, {granted / batch / FORMS:.2f} granted", flush=True)
        time.sleep(random.uniform(0.08, 0.25))


if __name__ == "__main__":
    main()
