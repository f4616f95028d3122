"""How long will a car wait at the ferry? Each harbour has a small model of its own, which is fitted again whenever a
ferry has left; drivers ask for a forecast in between. A forecast that was begun goes on with the version of the model
with which it began.

ticket: practice
class: app-leak
holder: forecasters partial weights Harbours keywords args
cause: closure-kept cache-without-bound
"""

import functools
import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

FEATURES, WIDTH, CARS = 96, 2048, 256
PLACES = "Skagen", "Bodo", "Larne", "Igoumenitsa"


def start(seed):
    first, second, third = jax.random.split(jax.random.key(seed), 3)
    return {
        "entry": 0.1 * jax.random.normal(first, (FEATURES, WIDTH)),
        "turn": 0.02 * jax.random.normal(second, (WIDTH, 64)),
        "exit": 0.1 * jax.random.normal(third, (64,)),
    }


@jax.jit
def predict(weights, cars):
    hidden = jnp.tanh(jax.nn.relu(cars @ weights["entry"]) @ weights["turn"])
    return jax.nn.softplus(hidden @ weights["exit"])


@jax.jit
def fit(weights, cars, waits):
    """One step down the slope of the squared error."""
    slope = jax.grad(lambda chosen: jnp.mean((predict(chosen, cars) - waits) ** 2))(weights)
    return jax.tree_util.tree_map(lambda weight, change: weight - 0.01 * change, weights, slope)


class Harbours:
    def __init__(self):
        self.weights = {place: start(seed) for seed, place in enumerate(PLACES)}
        self.versions = dict.fromkeys(PLACES, 0)
        self.forecasters = {(place, 0): functools.partial(predict, self.weights[place]) for place in PLACES}

    def ferry_left(self, place, cars, waits):
        """Fits the model of the harbour again, and puts it in service."""
        self.weights[place] = weights = fit(self.weights[place], cars, waits)  # grows
        version = self.versions[place] + 1
        self.forecasters[place, version] = functools.partial(predict, weights)  # keeps
        self.versions[place] = version

    def forecast(self, place, cars):
        return np.asarray(self.forecasters[place, self.versions[place]](cars))


def queue(rng):
    """The cars in the queue, and how long they wait."""
    cars = rng.random((CARS, FEATURES), dtype=np.float32)
    return cars, (2 * cars[:, 0] + cars[:, 1] * cars[:, 2]).astype(np.float32)


def main():
    harbours, rng, left, errors = Harbours(), np.random.default_rng(5), 0, []
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        place = random.choice(PLACES)
        for _ in range(random.randint(1, 3)):
            cars, waits = queue(rng)
            errors.append(float(np.abs(harbours.forecast(place, cars) - waits).mean()))
            time.sleep(0.02)
        harbours.ferry_left(place, *queue(rng))
        left += 1
        if left % 20 == 0:
            print(f"{left} ferries left, mean error {np.mean(errors):.3f} hours", flush=True)
            errors.clear()
        time.sleep(random.uniform(0.03, 0.12))


if __name__ == "__main__":
    main()
