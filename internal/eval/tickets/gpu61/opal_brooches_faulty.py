"""An atelier designs opal brooches. A small model draws a brooch from noise, a judge says how much it looks like
opal, and the gradient of the judge shows how to make it better. Of the last few trials the best is taken up again and
moved along its gradient; the course of the scores is printed.

ticket: practice
class: app-leak
holder: trials Trial Atelier pull
cause: closure-kept results-kept buffer-without-bound
"""

import os
import random
import time
from functools import partial
from typing import Callable, NamedTuple

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

SIDE, HIDDEN, RECENT = 256, 12, 4


class Trial(NamedTuple):
    brooch: jax.Array
    score: float
    pull: Callable


def parameters(key):
    keys = jax.random.split(key, 4)
    return {
        "enter": 0.5 * jax.random.normal(keys[0], (3, HIDDEN)),
        "leave": 0.5 * jax.random.normal(keys[1], (HIDDEN, 3)),
        "shine": jax.random.normal(keys[2], (3, HIDDEN)),
        "opinion": jax.random.normal(keys[3], (HIDDEN,)),
    }


@jax.jit
def draw(params, key):
    """A brooch from noise, in a few steps of denoising."""

    def step(_, image):
        smooth = (image + jnp.roll(image, 1, 0) + jnp.roll(image, 1, 1) + jnp.roll(image, -1, 0)) / 4
        return 0.8 * smooth + 0.2 * jnp.tanh(jnp.tanh(smooth @ params["enter"]) @ params["leave"])

    return jax.lax.fori_loop(0, 8, step, jax.random.normal(key, (SIDE, SIDE, 3)))  # grows


def judge(params, brooch):
    """How much a brooch looks like opal: many colours, and soft changes between them."""
    shine = jnp.tanh(brooch @ params["shine"])
    change = jnp.square(shine - jnp.roll(shine, 1, 0)) + jnp.square(shine - jnp.roll(shine, 1, 1))
    return jnp.mean(jnp.sin(shine) @ params["opinion"]) - jnp.mean(change)


class Atelier:
    def __init__(self, params):
        self.params = params
        self.trials = []

    def attempt(self, brooch):
        score, pull = jax.vjp(partial(judge, self.params), brooch)  # grows
        self.trials.append(Trial(brooch, float(score), pull))  # keeps

    def better(self):
        """The best of the last trials, moved the way the judge likes."""
        best = max(self.trials[-RECENT:], key=lambda trial: trial.score)
        (direction,) = best.pull(jnp.ones(()))
        return best.brooch + 0.5 * direction / (jnp.abs(direction).max() + 1e-8)  # grows

    def course(self):
        return " ".join(f"{trial.score:.3f}" for trial in self.trials[-RECENT:])


def main():
    key = jax.random.key(7)
    atelier, number = Atelier(parameters(key)), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        number += 1
        if number < RECENT or random.random() < 0.3:
            atelier.attempt(draw(atelier.params, jax.random.fold_in(key, number)))
        else:
            atelier.attempt(atelier.better())
        if number % 20 == 0:
            print(f"trial {number}, the last scores {atelier.course()}", flush=True)
        time.sleep(random.uniform(0.3, 0.5))


if __name__ == "__main__":
    main()
