"""Patterns as on corals grow out of two substances that react and spread, with jax. The state of a run is a dataclass
that cannot be changed, in the way of jax: each advance makes a new one, which takes over the frames of the one before.
From the last frames it is seen whether the pattern still moves; if not, the feed is changed.

ticket: practice
class: app-leak
holder: frames run
cause: results-kept buffer-without-bound
"""

import dataclasses
import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

SIDE, STEPS, LOOK_BACK = 320, 12, 6


@dataclasses.dataclass(frozen=True)
class Run:
    """A pattern at some time, and how it came to it."""

    food: jax.Array
    coral: jax.Array
    feed: float = 0.037
    kill: float = 0.06
    step: int = 0
    frames: tuple = ()
    feeds: tuple = ()


def spread(field):
    near = jnp.roll(field, 1, 0) + jnp.roll(field, -1, 0) + jnp.roll(field, 1, 1) + jnp.roll(field, -1, 1)
    return near / 4 - field


@jax.jit
def react(food, coral, feed, kill):
    def one(_, fields):
        food, coral = fields
        eaten = food * coral * coral
        food = food + 0.64 * spread(food) - eaten + feed * (1 - food)
        coral = coral + 0.32 * spread(coral) + eaten - (feed + kill) * coral
        return food, coral
    return jax.lax.fori_loop(0, STEPS, one, (food, coral))


@jax.jit
def change(now, before):
    return jnp.abs(now - before).mean()


@jax.jit
def covered(coral):
    return (coral > 0.2).mean()


def begin(key):
    seeds = jax.random.bernoulli(key, 0.002, (SIDE, SIDE)).astype(jnp.float32)
    for _ in range(3):
        seeds = seeds + spread(seeds) * 0.8
    seeds = jnp.clip(12 * seeds, 0, 1)
    return Run(food=1 - 0.5 * seeds, coral=0.25 * seeds)


def advance(run):
    """The run some steps on."""
    food, coral = react(run.food, run.coral, run.feed, run.kill)  # grows
    return dataclasses.replace(run, food=food, coral=coral, step=run.step + STEPS,
                               frames=run.frames + (coral,))  # keeps


def steer(run):
    """Feeds another amount once the pattern stands still."""
    if len(run.frames) < LOOK_BACK or float(change(run.frames[-1], run.frames[-LOOK_BACK])) > 2e-4:
        return run
    feed = min(max(run.feed + random.choice((-0.003, 0.002)), 0.03), 0.045)
    return dataclasses.replace(run, feed=feed, feeds=(run.feeds + (feed,))[-20:])


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    run, told = begin(jax.random.PRNGKey(0)), 0
    while time.time() < end:
        for _ in range(random.randint(4, 12)):
            run = advance(run)
            time.sleep(random.uniform(0.02, 0.1))
        run = steer(run)
        told += 1
        if told % 4 == 0:
            print("step", run.step, "covered", round(float(covered(run.coral)), 3), "feed", round(run.feed, 3),
                  "changed", len(run.feeds), "times", flush=True)


if __name__ == "__main__":
    main()
