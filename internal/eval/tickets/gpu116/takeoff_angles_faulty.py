"""Fits a model of the take-off in ski jumping: from the pressure under the boots to the angle of the flight.

The plates at the edge of the table record the push of each jumper. A network of two hidden layers learns the
angle, the lean and the lift; where a gust has spoilt a few batches and the error runs away, the weights go back
to an earlier state.

ticket: practice
class: app-leak
holder: _fallback
cause: snapshots-kept
"""
import os
import time

import jax
import jax.numpy as jnp
import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
PLATES = 128
HIDDEN = 768
BATCH = 64
SAVE_EVERY = 4
GENERATIONS = 5
RATE = 0.01
ROUNDS_PER_SECOND = 8


def init_params(key):
    sizes = [PLATES, HIDDEN, HIDDEN, 3]
    layers = []
    for fan_in, fan_out in zip(sizes[:-1], sizes[1:]):
        key, sub = jax.random.split(key)
        layers.append({
            "w": jax.random.normal(sub, (fan_in, fan_out)) / jnp.sqrt(fan_in),
            "b": jnp.zeros(fan_out),
        })
    return layers


def predict(params, push):
    for layer in params[:-1]:
        push = jnp.tanh(push @ layer["w"] + layer["b"])
    return push @ params[-1]["w"] + params[-1]["b"]


def error(params, push, flight):
    return jnp.mean((predict(params, push) - flight) ** 2)


@jax.jit
def train_step(params, push, flight):
    loss, grads = jax.value_and_grad(error)(params, push, flight)
    return loss, jax.tree_util.tree_map(lambda p, g: p - RATE * g, params, grads)


class TakeoffTable:
    """Pushes of jumpers and the flights that came of them; now and then a gust spoils a batch."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.mix = self.rng.normal(size=(PLATES, 3)).astype(np.float32) / np.sqrt(PLATES)

    def batch(self):
        push = self.rng.normal(size=(BATCH, PLATES)).astype(np.float32)
        flight = np.tanh(push @ self.mix)
        if self.rng.random() < 0.04:
            flight = flight + self.rng.normal(0, 6, size=flight.shape).astype(np.float32)
        return push, flight


class Fallback:
    """Earlier weights by step, the latest few generations of them."""

    def __init__(self):
        self._fallback = {}

    def save(self, step, params):
        self._fallback[step] = params  # keeps
        self._fallback.pop(step - GENERATIONS, None)

    def latest(self):
        return self._fallback[max(self._fallback)]


class Coach:
    def __init__(self, seed):
        self.table = TakeoffTable(seed)
        self.params = init_params(jax.random.key(seed))
        self.fallback = Fallback()
        self.step = 0
        self.loss = 1.0
        self.returns = 0

    def train(self):
        push, flight = self.table.batch()
        loss, params = train_step(self.params, push, flight)  # grows
        loss = float(loss)
        if self.step > SAVE_EVERY and loss > 8 * self.loss:
            self.params = self.fallback.latest()
            self.returns += 1
        else:
            self.params = params
            self.loss = 0.9 * self.loss + 0.1 * loss
        if self.step % SAVE_EVERY == 0:
            self.fallback.save(self.step, self.params)
        self.step += 1


def main():
    coach = Coach(seed=19)
    begun = time.monotonic()
    next_line = begun + 2.0
    while time.monotonic() - begun < SECONDS:
        started = time.monotonic()
        coach.train()
        if started >= next_line:
            print(f"step {coach.step}: loss {coach.loss:.4f}, {coach.returns} returns", flush=True)
            next_line += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - started)))
    print(f"table closed after {coach.step} steps, loss {coach.loss:.4f}", flush=True)


if __name__ == "__main__":
    main()
