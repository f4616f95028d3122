"""Estimates the costs of claims after hail as they are filed. The true cost comes later, with the settlement; only
then does the model learn from it, through the pullback that was made with the estimate. Some claims are withdrawn.

ticket: practice
class: app-leak
holder: pending pullback Desk
cause: closure-kept buffer-without-bound
"""

import os
import random
import time
from dataclasses import dataclass, field

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

PHOTOS, PIXELS, WIDTH = 96, 768, 512
WITHDRAWN, RATE = 0.3, 1e-3


def make_params(key):
    first, second, third = jax.random.split(key, 3)
    return {
        "photo": jax.random.normal(first, (PIXELS, WIDTH)) / PIXELS**0.5,
        "dents": jax.random.normal(second, (WIDTH, WIDTH)) / WIDTH**0.5,
        "cost": jax.random.normal(third, (WIDTH,)) / WIDTH**0.5,
    }


def estimate(params, photos):
    """The cost in thousands, from the photos of one claim."""
    seen = jnp.tanh(photos @ params["photo"])
    dents = jnp.tanh(seen @ params["dents"])
    return jnp.log1p(jnp.exp(dents @ params["cost"])).mean()


@jax.jit
def descend(params, gradients):
    return jax.tree_util.tree_map(lambda value, slope: value - RATE * slope, params, gradients)


@dataclass
class Desk:
    params: dict
    pending: dict = field(default_factory=dict)
    error: float = 1.0
    settled: int = 0

    def file(self, number, photos):
        cost, pullback = jax.vjp(lambda params: estimate(params, photos), self.params)  # grows
        self.pending[number] = float(cost), pullback  # keeps

    def settle(self, number, true_cost):
        cost, pullback = self.pending.pop(number)
        difference = cost - true_cost
        gradients, = pullback(jnp.float32(2 * difference))
        self.params = descend(self.params, gradients)  # grows
        self.error = 0.95 * self.error + 0.05 * abs(difference)
        self.settled += 1


def main():
    random.seed(6)
    key, photo_key = jax.random.split(jax.random.PRNGKey(6))
    desk, waiting, number = Desk(make_params(key)), [], 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        number += 1
        photos = jax.random.normal(jax.random.fold_in(photo_key, number), (PHOTOS, PIXELS))  # grows
        desk.file(number, photos)
        if random.random() > WITHDRAWN:
            waiting.append(number)
        if len(waiting) > 6:
            desk.settle(waiting.pop(0), random.gauss(1.5, 0.3))
        if number % 25 == 0:
            print(f"{number} claims, {desk.settled} settled, wrong by {desk.error:.2f} thousand", flush=True)
        time.sleep(random.uniform(0.05, 0.15))


if __name__ == "__main__":
    main()
