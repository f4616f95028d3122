"""Where does the kelp drift? Radars see the surface current at some places of a bay, and every hour the current of the
whole bay is fitted to what they see, as smooth as can be. The fit is a quasi-Newton search (L-BFGS): the last six pairs
of steps and changes of the gradient stand for the curvature, and it is carried from hour to hour.

ticket: practice
class: app-leak
holder: pairs Curvature
cause: buffer-without-bound
"""

import os
import random
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

SIDE, MEMORY, ITERATIONS, HALVINGS = 400, 6, 8, 6
SMOOTH, NOISE = 0.02, 0.1


@jax.jit
@jax.value_and_grad
def misfit(field, seen, places):
    """How far a field of currents is from what the radars see, and how rough it is."""
    rough = -4.0 * field
    for axis in (1, 2):
        rough += jnp.roll(field, 1, axis) + jnp.roll(field, -1, axis)
    return 0.5 * jnp.sum(places * (field - seen) ** 2) + 0.5 * SMOOTH * jnp.sum(rough**2)


@jax.jit
def radars(key, hour):
    """What the radars see in an hour, and where."""
    rows, columns = jnp.meshgrid(jnp.arange(SIDE), jnp.arange(SIDE), indexing="ij")
    tide = 0.3 * hour
    truth = jnp.stack([jnp.sin(rows / 40.0 + tide), jnp.cos(columns / 30.0 - tide)])
    one, two = jax.random.split(key)
    places = (jax.random.uniform(one, (SIDE, SIDE)) < 0.1).astype(jnp.float32)
    return truth + NOISE * jax.random.normal(two, truth.shape), places


class Curvature:
    """Pairs of steps and the changes of the gradient that they made."""

    def __init__(self):
        self.pairs = []

    def add(self, step, change):
        if jnp.vdot(step, change) > 1e-8:
            self.pairs.append((step, change))  # keeps

    def direction(self, gradient):
        recent, weights, way = self.pairs[-MEMORY:], [], gradient
        for step, change in reversed(recent):
            weights.append(jnp.vdot(step, way) / jnp.vdot(step, change))
            way = way - weights[-1] * change
        if recent:
            step, change = recent[-1]
            way = way * jnp.vdot(step, change) / jnp.vdot(change, change)
        else:
            way = 0.3 * way
        for (step, change), weight in zip(recent, reversed(weights)):
            way = way + (weight - jnp.vdot(change, way) / jnp.vdot(step, change)) * step
        return -way  # grows


def fit(field, curvature, seen, places):
    """The field of an hour, from that of the hour before."""
    value, gradient = misfit(field, seen, places)
    for _ in range(ITERATIONS):
        step = curvature.direction(gradient)  # grows
        new_value, new_gradient = misfit(field + step, seen, places)
        for _ in range(HALVINGS):
            if new_value <= value:
                break
            step = 0.5 * step  # grows
            new_value, new_gradient = misfit(field + step, seen, places)
        curvature.add(step, new_gradient - gradient)  # grows
        field, value, gradient = field + step, new_value, new_gradient
        time.sleep(random.uniform(0.05, 0.12))
    return field, float(value)


def main():
    field, curvature, hour = jnp.zeros((2, SIDE, SIDE)), Curvature(), 0
    key = jax.random.PRNGKey(11)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        key, draw = jax.random.split(key)
        seen, places = radars(draw, float(hour))
        field, value = fit(field, curvature, seen, places)
        hour += 1
        print(f"hour {hour}: misfit {value:.1f}, fastest current {float(jnp.abs(field).max()):.2f}", flush=True)


if __name__ == "__main__":
    main()
