"""Warm water flows into a lake. How it mixes is learned while the simulation goes on: a small correction of the mixing
is fitted to the temperatures that buoys report. Every few steps the error is taken back through the last steps, by the
pullbacks that jax.vjp gave for each of them, and the correction is moved along the gradient.

ticket: practice
class: none
"""

import collections
import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

SIDE, WINDOW, BUOYS = 160, 6, 200


def around(field):
    return (jnp.roll(field, 1, 0) + jnp.roll(field, -1, 0) + jnp.roll(field, 1, 1) + jnp.roll(field, -1, 1)) / 4


@jax.jit
def mix(params, warmth, inflow):
    """The lake a moment later."""
    lap = around(warmth) - warmth
    rate = jax.nn.sigmoid(params["bias"] + params["warm"] * warmth + params["steep"] * jnp.abs(lap))
    moved = warmth + rate * lap - 0.05 * (warmth - jnp.roll(warmth, 1, 1))
    return 0.999 * jnp.tanh(moved + inflow)


@jax.jit
def nature(warmth, inflow):
    lap = around(warmth) - warmth
    return 0.999 * jnp.tanh(warmth + 0.62 * lap - 0.05 * (warmth - jnp.roll(warmth, 1, 1)) + inflow)


@jax.jit
def error(warmth, buoys, reported):
    return jnp.mean((warmth[buoys[0], buoys[1]] - reported) ** 2)


class Lake:
    def __init__(self, key):
        self.params = {"bias": jnp.float32(-1.0), "warm": jnp.float32(0.0), "steep": jnp.float32(0.0)}
        self.warmth = self.truth = jnp.zeros((SIDE, SIDE))
        self.buoys = jax.random.randint(key, (2, BUOYS), 0, SIDE)
        self.tape = collections.deque(maxlen=WINDOW)

    def step(self, inflow):
        self.warmth, pullback = jax.vjp(mix, self.params, self.warmth, inflow)
        self.tape.append(pullback)
        self.truth = nature(self.truth, inflow)

    def learn(self, rate=5.0):
        """Takes the error back through the last steps."""
        reported = self.truth[self.buoys[0], self.buoys[1]]
        wrong, back = jax.value_and_grad(error)(self.warmth, self.buoys, reported)
        slope = jax.tree.map(jnp.zeros_like, self.params)
        for pullback in reversed(self.tape):
            moved, back, _ = pullback(back)
            slope = jax.tree.map(jnp.add, slope, moved)
        self.params = jax.tree.map(lambda param, down: param - rate * jnp.clip(down, -0.1, 0.1), self.params, slope)
        self.warmth = self.warmth.at[self.buoys[0], self.buoys[1]].set(reported)
        return float(wrong)


def inflow():
    """A river somewhere on the shore, now stronger, now weaker."""
    place, wide = random.randrange(SIDE - 16), random.choice((4, 8, 16))
    return jnp.zeros((SIDE, SIDE)).at[jnp.arange(SIDE) // wide == place // wide, :3].set(random.random())


def main():
    lake, steps = Lake(jax.random.PRNGKey(3)), 0
    end, said = time.time() + float(os.environ.get("SECONDS", "45")), time.time()
    while time.time() < end:
        lake.step(inflow())
        steps += 1
        if steps % WINDOW == 0:
            wrong = lake.learn()
            if time.time() - said > 1.5:
                said = time.time()
                print("step", steps, "error", f"{wrong:.2e}", "bias", round(float(lake.params["bias"]), 3), flush=True)
        time.sleep(random.uniform(0.03, 0.15))


if __name__ == "__main__":
    main()
