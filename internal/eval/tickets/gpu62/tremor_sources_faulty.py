"""Waves from small tremors are simulated in a map of the wave speed below a volcano. An analyst looks at each simulated
seismogram a few tremors later and says how it differs from the recorded one. By the pullback of the simulation the map
is then moved a little, so that the two agree better.

ticket: practice
class: app-leak
holder: pullbacks Survey vjp
cause: closure-kept results-kept
"""

import os
import random
import time
from collections import deque

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

SIDE, STEPS, WAITING = 112, 48, 5
STATIONS = np.arange(8, SIDE, 16)


@jax.jit
def simulate(speed, source):
    """The seismograms of the stations at the surface, one row for each step."""

    def step(state, number):
        before, now = state
        curve = sum(jnp.roll(now, shift, axis) for shift in (-1, 1) for axis in (0, 1)) - 4 * now
        push = jnp.exp(-0.05 * (number - 10.0) ** 2)
        then = 1.99 * now - 0.99 * before + speed**2 * curve + push * source
        return (now, then), then[0, STATIONS]

    start = jnp.zeros((SIDE, SIDE), jnp.float32)
    return jax.lax.scan(step, (start, start), jnp.arange(STEPS, dtype=jnp.float32))[1]


class Survey:
    def __init__(self):
        self.speed = jnp.full((SIDE, SIDE), 0.4, jnp.float32)
        self.pullbacks = {}

    def tremor(self, number):
        source = np.zeros((SIDE, SIDE), np.float32)
        source[random.randrange(4, SIDE // 2), random.randrange(SIDE)] = 1.0
        seismograms, pullback = jax.vjp(simulate, self.speed, jnp.asarray(source))  # grows
        self.pullbacks[number] = pullback  # keeps
        return np.asarray(seismograms)

    def correct(self, number, difference):
        slope, _ = self.pullbacks[number](jnp.asarray(difference))
        slope = slope / (jnp.abs(slope).max() + 1e-9)
        self.speed = jnp.clip(self.speed - 0.002 * slope, 0.2, 0.6)


def verdict(seismograms):
    """How the analyst finds a seismogram to differ from the recorded one."""
    return seismograms - 0.9 * np.roll(seismograms, random.choice((-1, 1)), axis=0)


def main():
    survey, waiting, number = Survey(), deque(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        waiting.append((number, survey.tremor(number)))
        number += 1
        if len(waiting) > WAITING:
            seen, seismograms = waiting.popleft()
            survey.correct(seen, verdict(seismograms))
        if number % 10 == 0:
            low, high = float(survey.speed.min()), float(survey.speed.max())
            print(f"tremor {number}: speed from {low:.3f} to {high:.3f}", flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
