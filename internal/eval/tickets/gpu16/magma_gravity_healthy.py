"""Magma rises below a volcano, and gravity on its slopes changes a little. Where the mass is, is worked out from the
measured gravity with jax by L-BFGS, going on from the last model whenever there are new measurements. How the slope of
the misfit bends is told from the last five steps; older ones are forgotten.

ticket: practice
class: none
"""

import collections
import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

SIDE, LAYERS, MEMORY, SMOOTH = 96, 24, 5, 1e-3
EAST, NORTH = jnp.fft.rfftfreq(SIDE)[None, :], jnp.fft.fftfreq(SIDE)[:, None]
DEPTHS = jnp.arange(1.0, LAYERS + 1)[:, None, None]
FADE = jnp.exp(-2 * jnp.pi * DEPTHS * jnp.sqrt(EAST ** 2 + NORTH ** 2))


@jax.jit
def gravity(mass):
    """What is measured above, of masses in layers below."""
    return jnp.fft.irfft2((jnp.fft.rfft2(mass) * FADE).sum(0), s=(SIDE, SIDE))


@jax.jit
@jax.value_and_grad
def misfit(mass, measured):
    rough = jnp.square(jnp.diff(mass, axis=0)).sum() + jnp.square(jnp.diff(mass, axis=1)).sum()
    return 0.5 * jnp.square(gravity(mass) - measured).sum() + SMOOTH * (rough + jnp.square(mass).sum())


@jax.jit
def along(pairs, slope):
    """The way downhill, by the two loops over the last steps."""
    shares = []
    for step, turn in reversed(pairs):
        share = jnp.vdot(step, slope) / jnp.vdot(step, turn)
        slope = slope - share * turn
        shares.append(share)
    if pairs:
        slope = slope * jnp.vdot(*pairs[-1]) / jnp.vdot(pairs[-1][1], pairs[-1][1])
    for (step, turn), share in zip(pairs, reversed(shares)):
        slope = slope + (share - jnp.vdot(turn, slope) / jnp.vdot(step, turn)) * step
    return -slope


class Inversion:
    def __init__(self):
        self.mass = jnp.zeros((LAYERS, SIDE, SIDE), jnp.float32)
        self.pairs = collections.deque(maxlen=MEMORY)

    def improve(self, measured):
        """One step downhill, as long as it helps."""
        value, slope = misfit(self.mass, measured)
        way, reach = along(tuple(self.pairs), slope), 1.0 if self.pairs else 1e-2
        for _ in range(6):
            mass = self.mass + reach * way
            after, slope_after = misfit(mass, measured)
            if after < value:
                break
            reach *= 0.3
        else:
            return value
        step, turn = mass - self.mass, slope_after - slope
        if jnp.vdot(step, turn) > 1e-10:
            self.pairs.append((step, turn))
        self.mass = mass
        return after


class Volcano:
    """A blob of magma that rises and strays."""

    def __init__(self):
        self.place = np.array([SIDE / 2, SIDE / 2, LAYERS - 4.0])

    def measure(self):
        self.place += np.random.normal(0, 0.5, 3) - np.array([0, 0, 0.05])
        self.place = np.clip(self.place, (20, 20, 3), (SIDE - 20, SIDE - 20, LAYERS - 2))
        north, east, deep = np.mgrid[:SIDE, :SIDE, :LAYERS].astype(np.float32)
        far = (north - self.place[0]) ** 2 + (east - self.place[1]) ** 2 + 4 * (deep - self.place[2]) ** 2
        seen = gravity(jnp.asarray(np.exp(-far / 60).transpose(2, 0, 1)))
        return seen + 0.01 * jnp.asarray(np.random.standard_normal(seen.shape), jnp.float32)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    volcano, inversion, surveys = Volcano(), Inversion(), 0
    while time.time() < end:
        measured = volcano.measure()
        for _ in range(random.choice((2, 3, 4, 6))):
            value = inversion.improve(measured)
            time.sleep(random.uniform(0.02, 0.2))
        surveys += 1
        if surveys % 5 == 0:
            most = inversion.mass.max((1, 2))
            deep = float((most * DEPTHS[:, 0, 0]).sum() / most.sum())
            print("survey", surveys, "misfit", round(float(value), 4), "depth", round(deep, 2), flush=True)


if __name__ == "__main__":
    main()
