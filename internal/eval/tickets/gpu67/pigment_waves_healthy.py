"""Step-doubling check for a Gray-Scott pigment model. Two orbits of the same field are lazy streams, one with the full
time step and one with half of it; the rows of the table compare them at equal times and give the amount of pigment in
the finer one.

ticket: practice
class: none
"""

import os
import time
from functools import partial
from itertools import islice, repeat, starmap, takewhile, tee
from operator import itemgetter

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

SIDE = 256
STEP = 0.5
SUBSTEPS = 8
FEED, KILL, SPREAD = 0.037, 0.06, (0.16, 0.08)


def laplacian(plane):
    shifts = ((1, 0), (-1, 0), (1, 1), (-1, 1))
    return sum(jnp.roll(plane, distance, axis) for distance, axis in shifts) - 4.0 * plane


def slope(field):
    u, v = field
    reaction = u * v * v
    return jnp.stack(
        [
            SPREAD[0] * laplacian(u) - reaction + FEED * (1.0 - u),
            SPREAD[1] * laplacian(v) + reaction - (FEED + KILL) * v,
        ]
    )


@partial(jax.jit, static_argnames="substeps")
def advance(field, step, substeps=SUBSTEPS):
    return jax.lax.fori_loop(0, substeps, lambda _, state: state + step * slope(state), field)


@jax.jit
def distance(one, other):
    return jnp.sqrt(jnp.mean((one - other) ** 2))


@jax.jit
def pigment(field):
    return field[1].mean()


def seeded(key):
    """A calm field with a few drops of pigment."""
    drops = jax.random.bernoulli(key, 0.002, (SIDE, SIDE)).astype(jnp.float32)
    v = jnp.clip(sum(jnp.roll(drops, (dy, dx), (0, 1)) for dy in range(4) for dx in range(4)), 0.0, 1.0)
    return jnp.stack([1.0 - 0.5 * v, 0.25 * v])


def orbit(field, step):
    while True:
        yield field
        field = advance(field, step)


def table(field):
    fine, logged = tee(orbit(field, STEP / 2))
    rows = zip(orbit(field, STEP), islice(fine, 0, None, 2), map(pigment, islice(logged, 0, None, 2)))
    return starmap(lambda coarse, finer, amount: (float(distance(coarse, finer)), float(amount)), rows)


def until(end, stream):
    return takewhile(lambda _: time.time() < end, stream)


def paced(seconds, stream):
    return map(itemgetter(0), zip(stream, map(time.sleep, repeat(seconds))))


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    stream = until(end, paced(0.05, table(seeded(jax.random.key(11)))))
    for number, (error, amount) in enumerate(stream):
        if number % 40 == 0:
            print(f"t = {number * STEP * SUBSTEPS:8.1f}  error {error:.3e}  pigment {amount:.4f}", flush=True)


if __name__ == "__main__":
    main()
