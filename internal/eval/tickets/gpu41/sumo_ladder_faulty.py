"""A sumo wrestler is trained by self-play. It meets opponents from a ladder, on which a copy of the wrestler is put
after each tournament with a rating. Opponents of a similar rating are met more often, and a bout moves both of the
ratings.

ticket: practice
class: app-leak
holder: ladder Contender wrestle
cause: snapshots-kept closure-kept buffer-without-bound
"""

import math
import os
import random
import time
from functools import partial

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

SENSED, WIDTH, ACTIONS = 32, 768, 9
BOUTS, STEPS, RATE = 64, 16, 1e-2


class Contender:
    def __init__(self, wrestle, rating):
        self.wrestle, self.rating, self.bouts = wrestle, rating, 0


def build(key):
    sizes = (SENSED, WIDTH, WIDTH, ACTIONS)
    keys = jax.random.split(key, len(sizes) - 1)
    return [(jax.random.normal(k, (before, after)) / math.sqrt(before), jnp.zeros(after))
            for k, before, after in zip(keys, sizes[:-1], sizes[1:])]


def logits(params, sensed):
    for weights, bias in params[:-1]:
        sensed = jnp.tanh(sensed @ weights + bias)
    weights, bias = params[-1]
    return sensed @ weights + bias


@jax.jit
def act(params, sensed, key):
    return jax.random.categorical(key, logits(params, sensed))


@jax.jit
def push(place, mine, theirs, key):
    """What the wrestlers sense next, and how far the first one pushed the other."""
    gain = jnp.cos(place[:, 0] + mine) - jnp.cos(place[:, 1] + theirs)
    place = 0.9 * place + 0.1 * gain[:, None] + 0.3 * jax.random.normal(key, place.shape)
    return place, gain


@jax.jit
def improve(params, sensed, actions, returns):
    def loss(params):
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits(params, sensed)), actions[..., None], -1)[..., 0]
        return -(chosen * (returns - returns.mean())).mean()

    return jax.tree_util.tree_map(lambda param, grad: param - RATE * grad, params, jax.grad(loss)(params))


def tournament(params, opponent, key):
    key, first = jax.random.split(key)
    place, sensed, actions, gains = jax.random.normal(first, (BOUTS, SENSED)), [], [], []
    for step_key in jax.random.split(key, STEPS):
        ours, others, moved = jax.random.split(step_key, 3)
        sensed.append(place)
        actions.append(act(params, place, ours))
        place, gain = push(place, actions[-1], opponent.wrestle(place, others), moved)
        gains.append(gain)
    returns = jnp.cumsum(jnp.stack(gains)[::-1], axis=0)[::-1]
    params = improve(params, jnp.stack(sensed), jnp.stack(actions), returns)  # grows
    return params, float((returns[0] > 0).mean())


def choose(ladder, rating):
    weights = [math.exp(-abs(contender.rating - rating) / 200) + 1e-3 for contender in ladder]
    return random.choices(ladder, weights)[0]


def main():
    key = jax.random.PRNGKey(0)
    key, first = jax.random.split(key)
    params, rating, played = build(first), 1000.0, 0
    ladder = [Contender(partial(act, params), rating)]
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        key, bout = jax.random.split(key)
        opponent = choose(ladder, rating)
        params, won = tournament(params, opponent, bout)
        expected = 1 / (1 + 10 ** ((opponent.rating - rating) / 400))
        rating += 24 * (won - expected)
        opponent.rating -= 24 * (won - expected)
        opponent.bouts += 1
        ladder.append(Contender(partial(act, params), rating))  # keeps
        played += 1
        if played % 20 == 0:
            print(f"{played} tournaments, rating {rating:.0f}, best {max(c.rating for c in ladder):.0f}", flush=True)
        time.sleep(random.uniform(0.1, 0.25))


if __name__ == "__main__":
    main()
