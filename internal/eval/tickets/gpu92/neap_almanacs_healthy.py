"""Tide almanac for ships that leave a harbour.

A ship that casts off asks for the tide at its port for the coming days, from the minute of
its departure on. The bridge, the chart table and the cargo office of the ship ask three
questions about the same departure: the next high water, the shallowest hour, and the range
of the tide. All three are answered from one table of the harmonic constituents.

ticket: practice
class: none
"""
import functools
import os
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

MINUTES = 8192
CONSTITUENTS = 32
PACE = 0.2
REPORT_EVERY = 3.0

DICE = np.random.default_rng(14)
SPEEDS = jnp.asarray(np.concatenate((
    [28.984, 30.0, 28.440, 15.041, 13.943, 30.082, 14.959, 13.399],
    DICE.uniform(0.5, 60.0, CONSTITUENTS - 8),
)), dtype=jnp.float32)


class Port:
    def __init__(self, name, mean_depth, spring_range):
        self.name = name
        self.mean_depth = mean_depth
        share = np.exp(-0.25 * np.arange(CONSTITUENTS))
        self.lags = jnp.asarray(DICE.uniform(0, 360, CONSTITUENTS), dtype=jnp.float32)
        self.weights = jnp.asarray(np.tile(spring_range * share / share.sum() / 2, 2), dtype=jnp.float32)


@jax.jit
def expand(start_hour, speeds, lags):
    hours = start_hour + jnp.arange(MINUTES, dtype=jnp.float32) / 60.0
    angles = jnp.deg2rad(jnp.mod(hours[:, None] * speeds[None, :] + lags[None, :], 360.0))
    return jnp.concatenate((jnp.cos(angles), jnp.sin(angles)), axis=1)


@jax.jit
def heights(table, weights):
    return table @ weights


@functools.lru_cache(maxsize=16)
def harmonic_table(port, minute):
    return expand(np.float32(minute / 60.0), SPEEDS, port.lags)


def next_high_water(port, minute):
    day = heights(harmonic_table(port, minute), port.weights)[:1440]
    return int(jnp.argmax(day))


def shallowest_hour(port, minute):
    level = heights(harmonic_table(port, minute), port.weights)
    hourly = level[: MINUTES // 60 * 60].reshape(-1, 60).mean(axis=1)
    return float(hourly.min()) + port.mean_depth


def tidal_range(port, minute):
    level = heights(harmonic_table(port, minute), port.weights)
    return float(level.max() - level.min())


def departures(ports, end):
    """Ships cast off one after the other, a few minutes of the almanac's clock apart."""
    ship, minute = 0, 0
    while time.time() < end:
        began = time.time()
        ship += 1
        minute += int(DICE.integers(1, 9))
        yield ship, ports[int(DICE.integers(len(ports)))], minute
        time.sleep(max(0.0, PACE - (time.time() - began)))


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    ports = [
        Port("Saltholm", 7.5, 3.1),
        Port("Marrow Quay", 9.0, 4.4),
        Port("Finisk", 5.2, 2.0),
        Port("Great Pell", 12.4, 6.8),
    ]
    next_line = time.time()
    touchy = 0
    for ship, port, minute in departures(ports, end):
        crest = next_high_water(port, minute)
        shallow = shallowest_hour(port, minute)
        span = tidal_range(port, minute)
        touchy += shallow < 0.55 * port.mean_depth
        if time.time() >= next_line:
            next_line = time.time() + REPORT_EVERY
            print(f"ship {ship} from {port.name}: high water in {crest} min, least depth {shallow:.2f} m, "
                  f"range {span:.2f} m; {touchy} departures need care", flush=True)


if __name__ == "__main__":
    main()
