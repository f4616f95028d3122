"""Wardens of a coral reef look for the known colonies that are like the one in front of them. The feature store has a
table with one row for each colony; whenever divers bring new measurements, a new ranker with a fresh table takes the
place of the old one. The wardens ask in small batches.

ticket: practice
class: none
"""

import os
import random
import time

import numpy as np

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

COLONIES, FEATURES, BATCH, BEST = 2_048, 768, 8, 5


class Store:
    """The measurements of all colonies, some of which change with every dive."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.rows = self.random.standard_normal((COLONIES, FEATURES), dtype=np.float32)
        self.dives = 0

    def dive(self):
        colonies = self.random.choice(COLONIES, 64, replace=False)
        self.rows[colonies] += 0.3 * self.random.standard_normal((64, FEATURES), dtype=np.float32)
        self.dives += 1


@jax.jit
def rank(table, bias, seen):
    seen = seen / jnp.linalg.norm(seen, axis=1, keepdims=True)
    likeness = seen @ table.T + bias
    return jax.lax.top_k(likeness, BEST)


class Ranker:
    """Ranks the colonies by their likeness to what the wardens see."""

    def __init__(self, rows):
        rows = jnp.array(rows)
        self.table = rows / jnp.linalg.norm(rows, axis=1, keepdims=True)
        self.bias = 0.1 * jnp.abs(self.table).max(axis=1)

    def rank(self, seen):
        """The likeness and the numbers of the best colonies, for each row of what was seen."""
        return rank(self.table, self.bias, seen)


class Service:
    def __init__(self, store):
        self.store = store
        self.ranker = Ranker(store.rows)
        self.asked, self.sure = 0, 0

    def refresh(self):
        self.store.dive()
        self.ranker = Ranker(self.store.rows)

    def ask(self, seen):
        likeness, colonies = jax.device_get(self.ranker.rank(seen))
        self.asked += len(colonies)
        self.sure += int((likeness[:, 0] > 1.2 * likeness[:, 1]).sum())
        return colonies[:, 0]


def main():
    service, rng = Service(Store(seed=3)), np.random.default_rng(4)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for _ in range(random.randrange(2, 6)):
            known = rng.integers(COLONIES, size=BATCH)
            seen = service.store.rows[known] + rng.standard_normal((BATCH, FEATURES), dtype=np.float32)
            best = service.ask(seen)
            time.sleep(random.uniform(0.03, 0.15))
        service.refresh()
        if service.store.dives % 8 == 0:
            right = (best == known).mean()
            print(f"dive {service.store.dives}: {service.asked} asked, {service.sure} sure, the last batch {right:.2f}",
                  flush=True)


if __name__ == "__main__":
    main()
