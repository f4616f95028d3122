"""Lining of a tunnel kiln, fitted to its heat loss.

The fire bricks of a tunnel kiln wear unevenly, which shows in the temperature of the outer shell.
A small network is fitted in JAX to map burner load and place along the tunnel to shell temperatures, and the
best fits are blended into the picture of the lining that the kiln master gets.

ticket: practice
class: none
"""
import os
import time
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
REPORT_EVERY = 30
BLEND = 4
BURNERS = 16
WIDTH = 224
SHELL_POINTS = 64
BATCH = 256
RATE = 0.02
MOMENTUM = 0.9


class FitState(NamedTuple):
    weights: Any
    velocity: Any


class Fit(NamedTuple):
    loss: float
    round: int
    state: FitState


def first_state(seed):
    sizes = [(BURNERS, WIDTH), (WIDTH, WIDTH), (WIDTH, SHELL_POINTS)]
    keys = jax.random.split(jax.random.PRNGKey(seed), len(sizes))
    layers = [
        {"w": jax.random.normal(key, size) / np.sqrt(size[0]), "b": jnp.zeros(size[1])}
        for key, size in zip(keys, sizes)
    ]
    weights = {"layers": layers, "shell": jnp.full((SHELL_POINTS,), 0.1)}
    return FitState(weights, jax.tree_util.tree_map(jnp.zeros_like, weights))


def shell_temperature(weights, load):
    inner = load
    for layer in weights["layers"][:-1]:
        inner = jnp.tanh(inner @ layer["w"] + layer["b"])
    last = weights["layers"][-1]
    return weights["shell"] + inner @ last["w"] + last["b"]


def misfit(weights, load, measured):
    return jnp.mean((shell_temperature(weights, load) - measured) ** 2)


@jax.jit
def fit_step(state, load, measured):
    loss, slopes = jax.value_and_grad(misfit)(state.weights, load, measured)
    velocity = jax.tree_util.tree_map(lambda v, g: MOMENTUM * v - RATE * g, state.velocity, slopes)
    weights = jax.tree_util.tree_map(lambda w, v: w + v, state.weights, velocity)
    return FitState(weights, velocity), loss


@jax.jit
def lining(states, load):
    pictures = [shell_temperature(state.weights, load).mean(axis=0) for state in states]
    return jnp.stack(pictures).mean(axis=0)


class Tunnel:
    """Burner loads and the shell temperatures that the pyrometers read."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.wear = self.random.normal(size=(BURNERS, SHELL_POINTS)).astype(np.float32) / 4.0

    def readings(self):
        load = self.random.random((BATCH, BURNERS), dtype=np.float32)
        noise = 0.05 * self.random.standard_normal((BATCH, SHELL_POINTS), dtype=np.float32)
        return jnp.asarray(load), jnp.asarray(np.tanh(load @ self.wear) + noise)


class LiningFit:
    """Runs the fit and ranks what it has come to."""

    def __init__(self, seed):
        self.tunnel = Tunnel(seed)
        self.state = first_state(seed)
        self.candidates = []
        self.rounds = 0

    def round(self):
        load, measured = self.tunnel.readings()
        self.state, loss = fit_step(self.state, load, measured)
        self.rounds += 1
        self.candidates.append(Fit(float(loss), self.rounds, self.state))
        self.candidates.sort(key=lambda fit: fit.loss)
        del self.candidates[BLEND:]

    def picture(self):
        load, _ = self.tunnel.readings()
        best = tuple(fit.state for fit in self.candidates[:BLEND])
        return np.asarray(lining(best, load))


def main():
    fit = LiningFit(seed=41)
    end = time.monotonic() + SECONDS
    due = time.monotonic()
    while time.monotonic() < end:
        fit.round()
        if fit.rounds % REPORT_EVERY == 0:
            picture = fit.picture()
            best = fit.candidates[0]
            print(f"round {fit.rounds}: best fit {best.loss:.4f} of round {best.round}, "
                  f"hottest point {int(picture.argmax())} at {picture.max():.2f}", flush=True)
        due += 1.0 / ROUNDS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"fit ends after {fit.rounds} rounds with {fit.candidates[0].loss:.4f}", flush=True)


if __name__ == "__main__":
    main()
