"""Ensembles of forecast paths for weather balloons.

Before each launch the office lets a few thousand imagined balloons drift
through a wind field with small disturbances and so gets a spread of paths.
Some cycles later the real balloon has flown its path, and the forecast of
that cycle is checked against it. The error of the mean path and the spread
of the ensemble tell how far the wind field can be trusted.

ticket: practice
class: none
"""

import os
import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 1.0 / 3.0
MEMBERS = 2048
STEPS = 128
GRID = 1024
LAG = 5


def wind_at(field, position):
    """Wind at the nearest point of the field."""
    index = jnp.clip((position * GRID).astype(jnp.int32), 0, GRID - 1)
    return field[index[..., 0], index[..., 1]]


@partial(jax.jit, static_argnames=("members", "steps"))
def drift(fields, hour, site, key, members, steps):
    """Paths of all members from the launch site, one place for each step."""
    field = fields[hour]
    noise_key, start_key = jax.random.split(key)
    start = site + 0.002 * jax.random.normal(start_key, (members, 2))
    bias = 0.001 * jax.random.normal(noise_key, (members, 2))

    def step(position, _):
        moved = position + 0.004 * wind_at(field, position) + bias
        moved = jnp.mod(moved, 1.0)
        return moved, moved

    _, path = jax.lax.scan(step, start, None, length=steps)
    return path


@jax.jit
def verify(path, member):
    """Error of the mean path and mean spread around it."""
    truth = path[:, member]
    mean = path.mean(axis=1)
    error = jnp.sqrt(((mean - truth) ** 2).sum(axis=-1)).mean()
    return error, path.std(axis=1).mean()


class WindField:
    """Winds over the region, some fields for the hours of the day."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        row, column = np.meshgrid(np.linspace(0, 2 * np.pi, GRID), np.linspace(0, 2 * np.pi, GRID), indexing="ij")
        fields = []
        for _ in range(8):
            a, b = rng.uniform(0.5, 2.0, 2)
            fields.append(np.stack([np.sin(a * row) + 0.3, np.cos(b * column)], axis=-1))
        self.fields = jax.device_put(np.asarray(fields, dtype=np.float32))

    def hour(self, cycle):
        return cycle % len(self.fields)


class ForecastOffice:
    """Makes a forecast in each cycle and checks an earlier one."""

    def __init__(self, winds, seed):
        self.winds = winds
        self._key = jax.random.PRNGKey(seed)
        self._rng = np.random.default_rng(seed)
        self._forecasts = {}
        self.error = 0.0
        self.spread = 0.0
        self.checked = 0

    def issue(self, cycle):
        self._key, key = jax.random.split(self._key)
        site = jnp.asarray(self._rng.uniform(0.2, 0.8, 2), dtype=jnp.float32)
        path = drift(self.winds.fields, self.winds.hour(cycle), site, key, MEMBERS, STEPS)
        self._forecasts[cycle] = path

    def check(self, cycle):
        flown = cycle - LAG
        if flown < 0:
            return
        path = self._forecasts.pop(flown)
        member = int(self._rng.integers(MEMBERS))
        error, spread = verify(path, member)
        self.error = 0.9 * self.error + 0.1 * float(error)
        self.spread = 0.9 * self.spread + 0.1 * float(spread)
        self.checked += 1


def main():
    office = ForecastOffice(WindField(seed=61), seed=62)
    office.issue(0)
    start = time.monotonic()
    cycle = 0
    while time.monotonic() - start < SECONDS:
        cycle += 1
        office.issue(cycle)
        office.check(cycle)
        if cycle % 9 == 0:
            print(f"cycle {cycle:4d}  error {office.error:.4f}  spread {office.spread:.4f}", flush=True)
        time.sleep(max(0.0, start + cycle * ROUND - time.monotonic()))
    print(f"office closes after {office.checked} checked forecasts", flush=True)


if __name__ == "__main__":
    main()
