"""Finds the topics of a stream of sermons, batch by batch, with an online topic model. The steps at which the
perplexity was least are noted with their topics, and the mean of the three best is what is read out from time to time.

ticket: practice
class: app-leak
holder: best Study entry heap
cause: snapshots-kept buffer-without-bound
"""

import heapq
import os
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

WORDS, TOPICS, SERMONS, ROUNDS, AVERAGED = 8_000, 40, 64, 6, 3


@jax.jit
def update(topics, counts, rate):
    """One step of the model: the shares of the topics in each sermon first, then the words of the topics."""

    def improve(_, shares):
        shares = shares * ((counts / (shares @ topics + 1e-9)) @ topics.T)
        return shares / (shares.sum(axis=1, keepdims=True) + 1e-9)

    start = jnp.full((counts.shape[0], TOPICS), 1.0 / TOPICS, dtype=counts.dtype)
    shares = jax.lax.fori_loop(0, ROUNDS, improve, start)
    mixed = shares @ topics + 1e-9
    perplexity = jnp.exp(-(counts * jnp.log(mixed)).sum() / counts.sum())
    fresh = topics * (shares.T @ (counts / mixed)) + 1e-6
    fresh = fresh / fresh.sum(axis=1, keepdims=True)
    return (1.0 - rate) * topics + rate * fresh, perplexity


class Sermons:
    """Bags of words; each sermon is about two of the true topics."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.truth = self.rng.dirichlet(np.full(WORDS, 0.02), size=TOPICS)

    def batch(self):
        counts = np.zeros((SERMONS, WORDS), dtype=np.float32)
        for sermon in range(SERMONS):
            for topic in self.rng.choice(TOPICS, 2, replace=False):
                words = self.rng.choice(WORDS, 60, p=self.truth[topic])
                np.add.at(counts[sermon], words, 1.0)
        return counts


class Study:
    def __init__(self, key):
        start = jax.random.uniform(key, (TOPICS, WORDS), minval=0.5, maxval=1.5)
        self.topics = start / start.sum(axis=1, keepdims=True)
        self.best, self.steps = [], 0

    def read(self, counts):
        rate = (self.steps + 2.0) ** -0.6
        topics, perplexity = update(self.topics, jnp.asarray(counts), rate)  # grows
        self.steps += 1
        entry = (-float(perplexity), self.steps, topics)
        heapq.heappush(self.best, entry)  # keeps
        self.topics = topics
        return float(perplexity)

    def main_words(self):
        """The first words of the first topics, by the mean of the best steps."""
        mean = sum(topics for _, _, topics in heapq.nlargest(AVERAGED, self.best)) / AVERAGED
        return jnp.argsort(-mean[:3], axis=1)[:, :4].tolist()


def main():
    sermons, study = Sermons(3), Study(jax.random.PRNGKey(0))
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        perplexity = study.read(sermons.batch())
        if study.steps % 20 == 0:
            print(f"step {study.steps}: perplexity {perplexity:.0f}, topics {study.main_words()}", flush=True)
        time.sleep(0.06)


if __name__ == "__main__":
    main()
