"""Checkerwork of a glass furnace's regenerator, fitted to its thermometers.

Waste gas and combustion air pass in turn through the bricks.  A model with a conductance for each brick
is fitted to measured outlet temperatures by stochastic descent.  From time to time the state of
the fit is stored, so that a step that made things worse can be taken back.

ticket: practice
class: host-growth
holder: _stored
cause: snapshots-kept
"""
import os
import time

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
STEPS_PER_SECOND = 20
STORE_EVERY = 4
STORES = 10
BRICKS, CHANNELS = 512, 256
BATCH = 32


class Checkerwork:
    """The true regenerator, which answers with noise."""

    def __init__(self, rng):
        self.rng = rng
        self.conductance = rng.normal(0.0, 0.05, (BRICKS, CHANNELS)).astype(np.float32)

    def measure(self):
        inlet = self.rng.standard_normal((BATCH, BRICKS), dtype=np.float32)
        outlet = np.tanh(inlet @ self.conductance)
        outlet += 0.02 * self.rng.standard_normal(outlet.shape, dtype=np.float32)
        return inlet, outlet


class Fit:
    """A one-layer model with momentum."""

    def __init__(self, rng):
        self.conductance = rng.normal(0.0, 0.01, (BRICKS, CHANNELS)).astype(np.float32)
        self.velocity = np.zeros_like(self.conductance)
        self.rate = 0.06

    def step(self, inlet, outlet):
        guess = np.tanh(inlet @ self.conductance)
        error = guess - outlet
        slope = inlet.T @ (error * (1.0 - guess ** 2)) / len(inlet)
        self.velocity = 0.8 * self.velocity - self.rate * slope
        self.conductance += self.velocity
        return float((error ** 2).mean())

    def state(self):
        return {
            "conductance": self.conductance.copy(),  # grows
            "velocity": self.velocity.copy(),  # grows
            "rate": self.rate,
        }

    def load(self, state):
        self.conductance[...] = state["conductance"]
        self.velocity[...] = 0.0
        self.rate = state["rate"] * 0.7


class Store:
    """The last states of the fit by their step."""

    def __init__(self, every, keep):
        self.every = every
        self.keep = keep
        self._stored = {}
        self.losses = {}

    def offer(self, step, fit, loss):
        if step % self.every:
            return
        self._stored[step] = fit.state()  # keeps
        self.losses[step] = loss
        oldest = step - self.keep
        self._stored.pop(oldest, None)
        self.losses.pop(oldest, None)

    def best_before(self, step):
        recent = [s for s in self.losses if step - self.keep * self.every < s < step]
        if not recent:
            return None
        return self._stored[min(recent, key=self.losses.get)]


class Supervisor:
    """Takes back a fit that has gone astray."""

    def __init__(self, store):
        self.store = store
        self.mean = None
        self.taken_back = 0

    def look(self, step, fit, loss):
        self.mean = loss if self.mean is None else 0.95 * self.mean + 0.05 * loss
        if loss > 1.6 * self.mean and step > 40:
            state = self.store.best_before(step)
            if state is not None:
                fit.load(state)
                self.taken_back += 1


def main():
    rng = np.random.default_rng(1856)
    plant, fit = Checkerwork(rng), Fit(rng)
    store = Store(STORE_EVERY, STORES)
    supervisor = Supervisor(store)
    start = time.monotonic()
    told, step = start, 0
    while (now := time.monotonic()) - start < SECONDS:
        loss = fit.step(*plant.measure())
        step += 1
        if step % 200 == 0:
            plant.conductance += 0.02 * rng.standard_normal(plant.conductance.shape, dtype=np.float32)
        store.offer(step, fit, loss)
        supervisor.look(step, fit, loss)
        if now - told >= 3.0:
            told = now
            print(f"{now - start:6.1f} s  step {step:5d}  loss {supervisor.mean:8.5f}  rate {fit.rate:6.4f}  "
                  f"taken back {supervisor.taken_back}", flush=True)
        time.sleep(max(0.0, 1.0 / STEPS_PER_SECOND - (time.monotonic() - now)))
    print(f"fit ended after {step} steps with loss {supervisor.mean:.5f}", flush=True)


if __name__ == "__main__":
    main()
