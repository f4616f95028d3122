"""A hawk let fly from the glove climbs in thermals, and a falconer would like to foretell how long it will
soar. A small JAX model learns the climb from simulated flights: wind, warmth of the slope, wing loading and
hour of the day. At milestones the trainer looks back at the last few states of the model and reports the mean
of their forecasts, which is steadier than that of any one of them.

ticket: practice
class: none
"""
import os
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

SECONDS = float(os.environ.get("SECONDS", "45"))
ROUNDS_PER_SECOND = 8
MILESTONE_ROUNDS = 2
LOOK_BACK = 4
FLIGHTS = 64
FEATURES = 16
WIDTH = 448
HOURS = 32


def make_parameters(key):
    """Weights of a model with two hidden layers; the output is the climb in each part of the day."""
    sizes = [(FEATURES, WIDTH), (WIDTH, WIDTH), (WIDTH, HOURS)]
    layers = []
    for subkey, (rows, columns) in zip(jax.random.split(key, len(sizes)), sizes):
        weights = jax.random.normal(subkey, (rows, columns)) / jnp.sqrt(rows)
        layers.append({"weights": weights, "bias": jnp.zeros(columns)})
    return layers


def forecast(parameters, flights):
    hidden = flights
    for layer in parameters[:-1]:
        hidden = jnp.tanh(hidden @ layer["weights"] + layer["bias"])
    last = parameters[-1]
    return hidden @ last["weights"] + last["bias"]


def climb_loss(parameters, flights, climbs):
    return jnp.mean((forecast(parameters, flights) - climbs) ** 2)


@jax.jit
def update(parameters, flights, climbs):
    loss, slopes = jax.value_and_grad(climb_loss)(parameters, flights, climbs)
    parameters = jax.tree_util.tree_map(lambda value, slope: value - 0.02 * slope, parameters, slopes)
    return parameters, loss


@jax.jit
def look_ahead(parameters, flights):
    return forecast(parameters, flights).mean(axis=0)


class FlightLog:
    """Simulated flights over one hillside, with the climb in each part of the day."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.slope = self.random.normal(size=(FEATURES, HOURS)).astype(np.float32)
        self.hillside = jnp.asarray(self.random.normal(size=(4096, 2048)).astype(np.float32))

    def draw(self, count=FLIGHTS):
        flights = self.random.normal(size=(count, FEATURES)).astype(np.float32)
        climbs = np.sin(flights @ self.slope / 4.0) + 0.05 * self.random.normal(size=(count, HOURS))
        return jnp.asarray(flights), jnp.asarray(climbs.astype(np.float32))


class SoaringStudy:
    def __init__(self, seed=89):
        self.log = FlightLog(seed)
        self.parameters = make_parameters(jax.random.PRNGKey(seed))
        self.morning, _ = self.log.draw()
        self.rounds = 0
        self.loss = 0.0
        self._milestones = {}

    def train(self):
        flights, climbs = self.log.draw()
        self.parameters, loss = update(self.parameters, flights, climbs)
        self.loss = float(loss)
        self.rounds += 1
        if self.rounds % MILESTONE_ROUNDS == 0:
            self._mark()

    def _mark(self):
        self._milestones[self.rounds] = self.parameters
        self._milestones.pop(self.rounds - LOOK_BACK * MILESTONE_ROUNDS, None)

    def steady_forecast(self):
        latest = sorted(self._milestones)[-LOOK_BACK:]
        outlooks = [look_ahead(self._milestones[mark], self.morning) for mark in latest]
        return np.mean([np.asarray(outlook) for outlook in outlooks], axis=0)

    def describe(self):
        outlook = self.steady_forecast()
        best = int(outlook.argmax())
        return f"loss {self.loss:.4f}  best part of the day {best:2d} with climb {outlook[best]:+.3f}"


def main():
    study = SoaringStudy()
    started = spoken = time.monotonic()
    while time.monotonic() - started < SECONDS:
        begun = time.monotonic()
        study.train()
        if begun - spoken >= 2.5 and study.rounds >= MILESTONE_ROUNDS:
            spoken = begun
            print(f"{begun - started:5.1f} s  round {study.rounds:4d}  {study.describe()}", flush=True)
        time.sleep(max(0.005, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - begun)))
    print(f"hawks home after {study.rounds} rounds, loss {study.loss:.4f}", flush=True)


if __name__ == "__main__":
    main()
