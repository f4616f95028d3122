"""A board for the tanks of a plant that makes fresh water from brine. Every moment a network forecasts from the
readings how much power the pumps need. An operator who wonders about one of the latest forecasts asks why, and the
board names the reading that weighs most in it; to that end the way back from each forecast is put by.

ticket: practice
class: none
"""

import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

READINGS, WIDTH, LAYERS, LATEST = 48, 192, 3, 8


def fresh_weights(seed):
    keys = jax.random.split(jax.random.key(seed), LAYERS + 1)
    sizes = [READINGS] + [WIDTH] * LAYERS
    hidden = [jax.random.normal(key, pair) / pair[0] ** 0.5 for key, pair in zip(keys, zip(sizes, sizes[1:]))]
    return hidden, jax.random.normal(keys[-1], (WIDTH,)) / WIDTH**0.5


def power(weights, readings):
    """The power that the pumps need, the mean over the tanks and hours of the readings."""
    hidden, last = weights
    state = readings
    for matrix in hidden:
        state = jnp.tanh(state @ matrix)
    return jnp.mean(jnp.square(state @ last))


class Board:
    def __init__(self, weights):
        self.weights = weights
        self.ways_back = {}
        self.number = 0

    def forecast(self, readings):
        self.number += 1
        needed, way_back = jax.vjp(lambda values: power(self.weights, values), readings)
        self.ways_back[self.number] = way_back
        self.ways_back.pop(self.number - LATEST, None)
        return float(needed)

    def why(self, number):
        """The reading with the largest share in a forecast."""
        way_back = self.ways_back.get(number)
        if way_back is None:
            return None
        slopes, = way_back(jnp.float32(1.0))
        return int(jnp.argmax(jnp.abs(slopes).mean(axis=0)))


def tanks(hour, source):
    """Readings of some tanks over the last hours; how many tanks report varies."""
    rows = random.choice((1024, 1280, 1536))
    tide = np.sin(hour / 6 + np.arange(READINGS) / 5)
    return jnp.asarray((tide + 0.3 * source.standard_normal((rows, READINGS))).astype(np.float32))


def main():
    board, source = Board(fresh_weights(3)), np.random.default_rng(5)
    hour, asked, reason = 0, 0, None
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        needed = board.forecast(tanks(hour, source))
        hour += 1
        if random.random() < 0.15:
            reason = board.why(board.number - random.randrange(LATEST))
            asked += 1
        if hour % 15 == 0:
            print(f"{hour} forecasts, last {needed:.3f}, asked {asked} times, last reason {reason}", flush=True)
        time.sleep(random.choice((0.1, 0.2, 0.2, 0.4)))


if __name__ == "__main__":
    main()
