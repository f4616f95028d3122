"""
Learns how stoneware cones bend in the kiln. From the heat curve of a firing a small network tells the bend of a row
of pyrometric cones; it is trained round by round on firings from a simulator, and goes back to earlier weights when
a batch of odd firings has thrown it off.

ticket: practice
class: none
"""
import os
import time
from collections import deque

import jax
import jax.numpy as jnp

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 12
CURVE_POINTS = 128
HIDDEN = 512
CONES = 128
BATCH = 64
STEPS_BACK = 8
LEARNING_RATE = 0.02


def fresh_weights(key):
    first, second = jax.random.split(key)
    return {
        "curve": jax.random.normal(first, (CURVE_POINTS, HIDDEN)) / CURVE_POINTS ** 0.5,
        "cones": jax.random.normal(second, (HIDDEN, CONES)) / HIDDEN ** 0.5,
    }


def bend(weights, curves):
    hidden = jnp.tanh(curves @ weights["curve"])
    return hidden @ weights["cones"]


def loss_of(weights, curves, bends):
    return jnp.mean((bend(weights, curves) - bends) ** 2)


@jax.jit
def improve(weights, curves, bends):
    loss, gradient = jax.value_and_grad(loss_of)(weights, curves, bends)
    weights = jax.tree_util.tree_map(lambda w, g: w - LEARNING_RATE * g, weights, gradient)
    return weights, loss


class FiringSimulator:
    """Heat curves and the bend of the cones that they lead to."""

    def __init__(self, seed):
        self.key, part = jax.random.split(jax.random.PRNGKey(seed))
        self.response = jax.random.normal(part, (CURVE_POINTS, CONES)) / CURVE_POINTS ** 0.5

    def firings(self, odd):
        self.key, part = jax.random.split(self.key)
        curves = jax.random.normal(part, (BATCH, CURVE_POINTS))
        bends = jnp.tanh(curves @ self.response)
        if odd:
            bends = bends * 4.0
        return curves, bends


class ConeTrainer:
    def __init__(self, seed):
        self.weights = fresh_weights(jax.random.PRNGKey(seed))
        self.simulator = FiringSimulator(seed + 1)
        self._restore_points = deque(maxlen=STEPS_BACK)
        self.rounds = 0
        self.restored = 0
        self.usual_loss = None

    def step(self):
        curves, bends = self.simulator.firings(odd=self.rounds % 50 == 49)
        self.weights, loss = improve(self.weights, curves, bends)
        self._restore_points.append(self.weights)
        self.judge(float(loss))
        self.rounds += 1

    def judge(self, loss):
        if self.usual_loss is None:
            self.usual_loss = loss
        elif loss > 3.0 * self.usual_loss and len(self._restore_points) >= STEPS_BACK:
            self.weights = self._restore_points[-STEPS_BACK]
            self.restored += 1
        else:
            self.usual_loss += 0.1 * (loss - self.usual_loss)


def main():
    trainer = ConeTrainer(seed=1280)
    start = time.monotonic()
    while time.monotonic() - start < SECONDS:
        trainer.step()
        if trainer.rounds % (ROUNDS_PER_SECOND * 4) == 0:
            print(
                f"round {trainer.rounds}: usual loss {trainer.usual_loss:.4f}, "
                f"went back {trainer.restored} times",
                flush=True,
            )
        pause = start + trainer.rounds / ROUNDS_PER_SECOND - time.monotonic()
        if pause > 0:
            time.sleep(pause)
    print(f"cones learnt in {trainer.rounds} rounds, usual loss {trainer.usual_loss:.4f}", flush=True)


if __name__ == "__main__":
    main()
