"""Power kites learn to fly figures of eight: an evolution strategy tries a population of small controllers in a wind
model and moves towards the better ones. The best controller so far is saved on the host with its score; when the
flights get much worse, learning goes back to it.

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

SENSORS, HIDDEN, LINES = 24, 384, 3
POPULATION, MOMENTS, SIGMA = 16, 40, 0.03


def controller(key):
    first, second, third = jax.random.split(key, 3)
    return {
        "first": jax.random.normal(first, (SENSORS, HIDDEN)) / SENSORS ** 0.5,
        "second": jax.random.normal(second, (HIDDEN, HIDDEN)) / HIDDEN ** 0.5,
        "third": jax.random.normal(third, (HIDDEN, LINES)) / HIDDEN ** 0.5,
    }


def fly(params, wind):
    """The score of a flight through a wind: how well the kite follows the figure."""

    def moment(state, gust):
        hidden = jnp.tanh(jnp.tanh(state @ params["first"]) @ params["second"])
        pull = jnp.tanh(hidden @ params["third"])
        state = 0.9 * jnp.roll(state, 1) + 0.1 * gust + jnp.zeros(SENSORS).at[:LINES].set(0.2 * pull)
        return state, -jnp.abs(state[:LINES] - gust[:LINES]).mean()

    return jax.lax.scan(moment, jnp.zeros(SENSORS), wind)[1].mean()


@jax.jit
def generation(params, key):
    """Tries the population and returns the next controller and the mean score."""
    wind_key, noise_key = jax.random.split(key)
    wind = jax.random.normal(wind_key, (MOMENTS, SENSORS))
    keys = dict(zip(params, jax.random.split(noise_key, len(params))))
    noise = {name: jax.random.normal(keys[name], (POPULATION, *value.shape)) for name, value in params.items()}
    tried = {name: params[name] + SIGMA * noise[name] for name in params}
    scores = jax.vmap(fly, in_axes=(0, None))(tried, wind)
    ranks = (scores - scores.mean()) / (scores.std() + 1e-6)
    step = {name: jnp.tensordot(ranks, noise[name], axes=1) / POPULATION for name in params}
    return {name: params[name] + 0.02 * step[name] for name in params}, scores.mean()


class Trainer:
    def __init__(self):
        self.key = jax.random.key(11)
        self.params = controller(jax.random.key(5))
        self.saved = []
        self.returns = 0

    def step(self):
        self.key, key = jax.random.split(self.key)
        self.params, score = generation(self.params, key)
        score = float(score)
        host = {name: np.array(value) for name, value in self.params.items()}
        self.saved.append((score, host))
        self.saved = [max(self.saved, key=lambda pair: pair[0])]
        return score

    def check(self, score):
        """Goes back to the best controller when the flights are much worse than its own."""
        best, params = max(self.saved, key=lambda pair: pair[0])
        if score < 1.1 * best:
            self.params = {name: jnp.asarray(value) for name, value in params.items()}
            self.returns += 1
        return best


def main():
    trainer, generations = Trainer(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        score = trainer.step()
        generations += 1
        if generations % 25 == 0:
            best = trainer.check(score)
            print(f"generation {generations}: {score:.4f}, best {best:.4f}, {trainer.returns} returns", flush=True)
        time.sleep(random.uniform(0.04, 0.1))


if __name__ == "__main__":
    main()
