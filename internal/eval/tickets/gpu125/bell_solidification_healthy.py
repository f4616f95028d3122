"""Solidification of a bell in its loam mould.

A section through the mould is followed on a grid while the bronze cools: heat flows into the loam, and between liquidus
and solidus the melt gives off its latent heat. When a draught in the casting hall upsets the surface, the run goes back
to the newest saved state and continues with a calmer boundary. The founder reads the share that is solid and the
hottest spot, from which the time for breaking out the bell is estimated.

ticket: practice
class: none
"""
import itertools
import os
import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))

STEPS_PER_S = 10
SAVE_EVERY = 5
REWIND_S = 2.0
DRAUGHT_EVERY = 70
HEIGHT, WIDTH = 512, 768
LIQUIDUS, SOLIDUS = 1000.0, 800.0
POUR, LOAM, HALL = 1120.0, 180.0, 20.0


@partial(jax.jit, static_argnames="substeps")
def advance(state, conductivity, hall, substeps=4):
    """A few explicit steps of heat conduction with latent heat between liquidus and solidus."""

    def substep(_, inner):
        heat, solid = inner
        padded = jnp.pad(heat, 1, mode="edge").at[0, :].set(hall)
        flow = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:] - 4.0 * heat
        heat = heat + 0.2 * conductivity * flow
        now_solid = jnp.clip((LIQUIDUS - heat) / (LIQUIDUS - SOLIDUS), 0.0, 1.0)
        heat = heat + 40.0 * jnp.maximum(now_solid - solid, 0.0)
        return heat, jnp.maximum(now_solid, solid)

    heat, solid = jax.lax.fori_loop(0, substeps, substep, (state["heat"], state["solid"]))
    return {"heat": heat, "solid": solid}


@jax.jit
def readings(state, mask):
    return (state["solid"] * mask).sum() / mask.sum(), (state["heat"] * mask).max()


def bell_mask():
    """The waist and lip of the bell between core and cope."""
    rows, columns = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)
    radius = 120.0 + 180.0 * (rows / HEIGHT) ** 2
    distance = np.abs(np.abs(columns - WIDTH / 2) - radius)
    return (distance < 18.0 + 14.0 * rows / HEIGHT).astype(np.float32)


class RewindPoints:
    """The newest states of the run, to which it can go back."""

    def __init__(self, depth):
        self.depth = depth
        self._saved = []

    def save(self, step, state):
        self._saved.append((step, state))
        del self._saved[: -self.depth]

    def newest(self):
        return self._saved[-1]


class Pour:
    def __init__(self, seed=3):
        rng = np.random.default_rng(seed)
        mask = bell_mask()
        self.mask = jnp.asarray(mask)
        loam = 0.25 + 0.1 * rng.random((HEIGHT, WIDTH), dtype=np.float32)
        self.conductivity = jnp.asarray(np.where(mask > 0, 0.9, loam).astype(np.float32))
        heat = np.where(mask > 0, POUR, LOAM).astype(np.float32)
        self.state = {"heat": jnp.asarray(heat), "solid": jnp.asarray(1.0 - mask)}
        self.points = RewindPoints(depth=int(REWIND_S * STEPS_PER_S / SAVE_EVERY))
        self.hall = HALL
        self.rewinds = 0

    def step(self, number):
        self.state = jax.block_until_ready(advance(self.state, self.conductivity, self.hall))
        if number % SAVE_EVERY == 0:
            self.points.save(number, self.state)
        if number % DRAUGHT_EVERY == DRAUGHT_EVERY - 1:
            _, self.state = self.points.newest()
            self.hall += 0.5
            self.rewinds += 1


def main():
    pour = Pour()
    start = time.monotonic()
    due = start
    for number in itertools.count(1):
        if time.monotonic() - start >= SECONDS:
            break
        pour.step(number)
        if number % (3 * STEPS_PER_S) == 0:
            solid, hottest = readings(pour.state, pour.mask)
            print(f"step {number}: {float(solid):.2%} solid, hottest {float(hottest):.0f} C", flush=True)
        due += 1.0 / STEPS_PER_S
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"mould left to cool, {pour.rewinds} draughts on the way", flush=True)


if __name__ == "__main__":
    main()
