"""Lets a river wander through its plain: flow, depth and bed on a grid of 512 by 1024 cells.

The flow answers to the slope of the water, the water to the flow, and sand moves with the third power of the speed,
so that bends eat into the outer bank and leave bars on the inner one.  Inflow rises and falls with passing floods.
The solver goes in strides of sixteen small steps.  Should a stride turn out too fast for the step that was used (the
Courant number says so), the river is taken back to its last calm condition and the stride is done again with a shorter
step; otherwise the step is lengthened a little.  Progress is printed with the depth of the deepest pool.

ticket: practice
class: app-leak
holder: calm_states
cause: snapshots-kept
"""
import math
import os
import time
from typing import NamedTuple

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402

ROWS, COLUMNS = 512, 1024
STEPS = 16
SLOPE = 0.02
CHEZY = 8.0
LIMIT = 0.45


class River(NamedTuple):
    depth: jax.Array
    bed: jax.Array
    speed: jax.Array


def neighbours(field):
    return (jnp.roll(field, 1, 0) + jnp.roll(field, -1, 0) + jnp.roll(field, 1, 1) + jnp.roll(field, -1, 1)) / 4.0


def small_step(river, inflow, dt):
    level = river.depth + river.bed
    slope = jnp.clip(SLOPE - (jnp.roll(level, -1, 1) - level), 0.0, 0.3)
    wish = CHEZY * jnp.sqrt(river.depth * slope)
    speed = jnp.clip(river.speed + dt * 0.5 * (wish - river.speed), 0.0, 4.0)
    flux = river.depth * speed
    depth = river.depth + dt * (jnp.roll(flux, 1, 1) - flux)
    across = (jnp.roll(level, 1, 0) + jnp.roll(level, -1, 0)) / 2.0 - level
    depth = depth + dt * 0.3 * across
    depth = depth.at[:, 0].set(0.9 * depth[:, 0] + 0.1 * inflow)
    depth = jnp.clip(depth, 0.01, 6.0)
    sand = 2e-3 * speed ** 3
    bed = river.bed + dt * (jnp.roll(sand, 1, 1) - sand)
    bed = bed + dt * 0.02 * (neighbours(bed) - bed)
    return River(depth, jnp.clip(bed, -5.0, 5.0), speed)


@jax.jit
def stride(river, inflow, dt):
    def body(_, carried):
        now, fastest = carried
        now = small_step(now, inflow, dt)
        return now, jnp.maximum(fastest, now.speed.max())

    river, fastest = lax.fori_loop(0, STEPS, body, (river, jnp.float32(0.0)))
    return river, fastest * dt


@jax.jit
def deepest(river):
    return river.depth.max(), river.bed.min()


def first_river(key):
    rough = 0.1 * jax.random.normal(key, (ROWS, COLUMNS), dtype=jnp.float32)
    bank = jnp.abs(jnp.linspace(-1.0, 1.0, ROWS))[:, None]
    wave = 0.3 * jnp.sin(jnp.linspace(0.0, 8.0 * math.pi, COLUMNS))[None, :]
    bed = 2.0 * jnp.abs(bank + wave - 0.1) + rough
    return River(jnp.full((ROWS, COLUMNS), 0.5, jnp.float32), bed, jnp.zeros((ROWS, COLUMNS), jnp.float32))


class Solver:
    def __init__(self, river):
        self.river = river
        self.dt = 0.05
        self.calm_states = [river]
        self.strides = 0
        self.taken_back = 0

    def advance(self):
        inflow = 1.0 + 0.6 * math.sin(self.strides / 15.0) + 0.4 * math.sin(self.strides / 4.0)
        river, courant = stride(self.river, jnp.float32(inflow), jnp.float32(self.dt))  # grows
        self.strides += 1
        courant = float(courant)
        if not courant < LIMIT:
            self.river = self.calm_states[-1]
            self.dt *= 0.5
            self.taken_back += 1
            return courant
        self.river = river
        self.calm_states.append(river)  # keeps
        self.dt = min(self.dt * 1.05, 0.5)
        return courant


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    solver = Solver(first_river(jax.random.key(20)))
    spoken = time.time()
    while time.time() < deadline:
        courant = solver.advance()
        if time.time() - spoken > 2.0:
            pool, scour = (float(value) for value in deepest(solver.river))
            print(f"stride {solver.strides} ({solver.taken_back} taken back): step {solver.dt:.3f}, "
                  f"Courant {courant:.2f}, deepest pool {pool:.2f} m, scour {scour:.2f} m", flush=True)
            spoken = time.time()
        time.sleep(0.3)
    print(f"river at rest after {solver.strides} strides", flush=True)


if __name__ == "__main__":
    main()
