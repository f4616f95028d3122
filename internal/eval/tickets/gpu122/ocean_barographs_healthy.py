"""Instrument desk of an ocean weather ship.

Three instruments report to the desk: the wave radar in bursts of sea surface patches, the mast with wind profiles,
and the barograph with a pressure field fitted to the neighbouring stations. The forecaster compares what each of them
saw over the last twenty seconds, and a short fit of the swell period goes out with the three-minute signal.

    ticket: practice
    class: none
"""
import os
import time
from collections import deque
from functools import partial

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

ROUNDS_PER_SECOND = 4
BURST = 3
WINDOW_SECONDS = 20.0
PATCH = (256, 512)
PROFILE = (128, 512)
FIELD = (512, 512)


@partial(jax.jit, static_argnums=2)
def sea_patch(key, period, shape):
    """A swell of one period with wind sea upon it."""
    along = jnp.linspace(0.0, 40.0, shape[1])[None, :]
    across = jnp.linspace(0.0, 6.0, shape[0])[:, None]
    swell = jnp.sin((along + 0.3 * across) * 6.2832 / period)
    return swell + 0.2 * jax.random.normal(key, shape)


@partial(jax.jit, static_argnums=2)
def wind_profile(key, speed, shape):
    height = jnp.linspace(0.1, 1.0, shape[0])[:, None]
    return speed * height ** 0.14 + jax.random.normal(key, shape)


@partial(jax.jit, static_argnums=2)
def pressure_field(key, centre, shape):
    axis = jnp.linspace(-1.0, 1.0, shape[0])
    low = jnp.exp(-((axis[None, :] - centre) ** 2 + axis[:, None] ** 2) * 3.0)
    return 1012.0 - 18.0 * low + 0.1 * jax.random.normal(key, shape)


@jax.jit
def spread(row):
    return jnp.std(row), jnp.max(row) - jnp.min(row)


class Trace:
    """What one instrument reported over the last seconds, oldest first."""

    def __init__(self, name, seconds):
        self.name = name
        self.seconds = seconds
        self.reports = 0
        self._rows = deque()

    def _drop_before(self, limit):
        while self._rows and self._rows[0][0] < limit:
            self._rows.popleft()

    def append(self, at, row):
        self._rows.append((at, row))
        self.reports += 1
        self._drop_before(at - self.seconds)

    def extend(self, at, rows):
        """Takes a whole burst, the patches of which share one time."""
        self._rows.extend((at, row) for row in rows)
        self.reports += len(rows)
        self._drop_before(at - self.seconds)

    def newest(self):
        return self._rows[-1][1]

    def change(self):
        """Standard deviation of the newest row against that of the oldest."""
        newest, _ = spread(self._rows[-1][1])
        oldest, _ = spread(self._rows[0][1])
        return float(newest) - float(oldest)


class Instruments:
    def __init__(self, seed):
        self.key = jax.random.PRNGKey(seed)

    def _draws(self, count):
        self.key, *draws = jax.random.split(self.key, count + 1)
        return draws

    def burst(self, turn):
        period = 8.0 + 0.5 * ((turn // 40) % 3)
        return [sea_patch(draw, period, PATCH) for draw in self._draws(BURST)]

    def mast(self, turn):
        return wind_profile(self._draws(1)[0], 14.0 + (turn % 20) * 0.2, PROFILE)

    def barograph(self, turn):
        return pressure_field(self._draws(1)[0], ((turn // 4) % 30) / 15.0 - 1.0, FIELD)


def man_the_desk(seconds):
    instruments = Instruments(seed=8401)
    waves = Trace("waves", WINDOW_SECONDS)
    wind = Trace("wind", WINDOW_SECONDS)
    pressure = Trace("pressure", WINDOW_SECONDS)
    started = time.monotonic()
    turn = 0
    while time.monotonic() - started < seconds:
        now = time.monotonic() - started
        waves.extend(now, instruments.burst(turn))
        wind.append(now, instruments.mast(turn))
        if turn % ROUNDS_PER_SECOND == 0:
            pressure.append(now, instruments.barograph(turn))
        turn += 1
        if turn % (3 * ROUNDS_PER_SECOND) == 0:
            changes = ", ".join(f"{trace.name} {trace.change():+.3f}" for trace in (waves, wind, pressure))
            _, height = spread(waves.newest())
            print(f"{now:6.1f} s  sea {float(height):.2f} m; change {changes}", flush=True)
        time.sleep(max(0.0, started + turn / ROUNDS_PER_SECOND - time.monotonic()))
    return waves, wind, pressure


def main():
    traces = man_the_desk(float(os.environ.get("SECONDS", "120")))
    print("desk handed over: " + ", ".join(f"{trace.name} {trace.reports}" for trace in traces), flush=True)


if __name__ == "__main__":
    main()
