"""Echoes of a harbour's bottom are told apart (mud, sand, rock, wreck) by a network in flax. Tides and temperature
change the echoes, so its batch statistics go on being adapted while it is in service. The features that it sows are
compared with those seen in training, to know when it should be trained again.

ticket: google/flax#1227
class: none
"""

import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn

BOTTOMS, SAMPLES, BATCH, WIDTH = 4, 128, 2048, 256


class EchoNet(nn.Module):
    """The bottom that an echo comes from."""

    @nn.compact
    def __call__(self, echoes, train):
        hidden = nn.relu(nn.Dense(WIDTH)(echoes))
        hidden = nn.BatchNorm(use_running_average=False, momentum=0.9 if train else 0.98)(hidden)
        features = nn.relu(nn.Dense(WIDTH)(hidden))
        self.sow("intermediates", "features", features)
        return nn.Dense(BOTTOMS)(features)


class Harbour:
    """Each bottom has an echo of its own; it is stretched when the water gets warmer."""

    def __init__(self, seed=5):
        self.rng, self.warm = np.random.default_rng(seed), 0.0
        self.shapes = self.rng.normal(0, 1, (BOTTOMS, SAMPLES)).astype(np.float32)

    def echoes(self):
        bottoms = self.rng.integers(0, BOTTOMS, BATCH)
        echoes = (1 + self.warm) * self.shapes[bottoms] + self.rng.normal(self.warm, 2, (BATCH, SAMPLES))
        return echoes.astype(np.float32), bottoms


class Service:
    def __init__(self):
        self.net, self.harbour = EchoNet(), Harbour()
        self.variables = self.net.init(jax.random.PRNGKey(3), jnp.zeros((2, SAMPLES)), train=True)
        self.variables = {name: self.variables[name] for name in ("params", "batch_stats")}
        self.usual = None

    def train(self, steps=40):
        optimizer = optax.adam(2e-3)
        params, stats = self.variables["params"], self.variables["batch_stats"]
        state = optimizer.init(params)

        def loss_of(params, stats, echoes, bottoms):
            scores, new = self.net.apply({"params": params, "batch_stats": stats}, echoes, train=True,
                                         mutable=["batch_stats"])
            return optax.softmax_cross_entropy_with_integer_labels(scores, bottoms).mean(), new["batch_stats"]

        slopes_of = jax.jit(jax.grad(loss_of, has_aux=True))
        for _ in range(steps):
            slopes, stats = slopes_of(params, stats, *self.harbour.echoes())
            updates, state = optimizer.update(slopes, state)
            params = optax.apply_updates(params, updates)
        self.variables = {"params": params, "batch_stats": stats}

    def classify(self, echoes):
        scores, new = self.net.apply(self.variables, echoes, train=False, mutable=["batch_stats", "intermediates"])
        self.variables = {**self.variables, "batch_stats": new["batch_stats"]}
        seen = new["intermediates"]["features"][-1].mean(0)
        self.usual = seen if self.usual is None else self.usual
        return scores.argmax(1), float(jnp.abs(seen - self.usual).mean())


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    service, batches = Service(), 0
    service.train()
    while time.time() < end:
        echoes, bottoms = service.harbour.echoes()
        found, moved = service.classify(echoes)
        service.harbour.warm += 0.001
        batches += 1
        if batches % 10 == 0:
            print("batch", batches, "right", f"{100 * np.mean(np.asarray(found) == bottoms):.1f} %", "moved",
                  round(moved, 4), flush=True)
        time.sleep(random.uniform(0.03, 0.2))


if __name__ == "__main__":
    main()
