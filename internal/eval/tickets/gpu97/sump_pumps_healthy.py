"""Water behind a sump while a rescue is under way.

Cavers are held behind a flooded passage. Pumps are set in the sump, rain falls on the moor above,
and the water is carried through the cracks of the limestone. For each new gauge reading the levels
of the coming hour are computed, and the controller learns whether the passage will open.

ticket: practice
class: none
"""
import os
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

SECONDS = float(os.environ.get("SECONDS", "45"))
CELLS = 512
MINUTES = 12
READINGS_PER_SECOND = 8
ROOF = 1.35


def limestone(seed):
    """How easily water passes each cell, with a few open joints across the block."""
    rng = np.random.default_rng(seed)
    field = 0.05 + 0.05 * rng.random((CELLS, CELLS), dtype=np.float32)
    for row in rng.integers(20, CELLS - 20, 8):
        field[row - 1:row + 2, :] += 0.12
    return jnp.asarray(np.minimum(field, 0.24))


def pump_mask(pumps):
    mask = np.zeros((CELLS, CELLS), dtype=np.float32)
    for row, column in pumps:
        mask[row - 6:row + 6, column - 6:column + 6] = 1.0
    return jnp.asarray(mask)


@jax.jit
def next_hour(levels, passing, pumps, rain, duty):
    """Levels after the coming minutes of seepage, rain and pumping."""

    def minute(_, water):
        around = (jnp.roll(water, 1, 0) + jnp.roll(water, -1, 0) + jnp.roll(water, 1, 1) + jnp.roll(water, -1, 1))
        water = water + passing * (around - 4.0 * water)
        water = water + 0.01 * rain - duty * pumps - 0.006 * water
        return jnp.clip(water, 0.0, 3.0)

    return jax.lax.fori_loop(0, MINUTES, minute, levels)


@jax.jit
def sump_level(levels):
    return levels[CELLS // 2 - 16:CELLS // 2 + 16, CELLS // 2 - 16:CELLS // 2 + 16].mean()


class Gauge:
    """Rain on the moor as it is read at the surface."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.rain = 0.8

    def read(self):
        self.rain = float(np.clip(0.95 * self.rain + 0.05 + 0.2 * self.rng.normal(), 0.0, 3.0))
        return self.rain


class Controller:
    """Keeps the state of the sump and says when the divers may go."""

    def __init__(self, seed=1967):
        self.passing = limestone(seed)
        self.pumps = pump_mask([(250, 240), (262, 270), (240, 262)])
        self.gauge = Gauge(seed)
        self.levels = jnp.full((CELLS, CELLS), 1.5, dtype=jnp.float32)
        self.duty = 0.05
        self.latest = self.levels
        self.readings = 0

    def forecast(self):
        rain = self.gauge.read()
        ahead = next_hour(self.levels, self.passing, self.pumps, rain, self.duty)
        self.latest = ahead
        self.readings += 1
        level = float(sump_level(ahead))
        self.levels = 0.9 * self.levels + 0.1 * ahead
        self.duty = float(np.clip(self.duty + 0.02 * (level - ROOF), 0.01, 0.2))
        return level

    def crest(self):
        """Highest water that the forecast of the moment shows."""
        return float(self.latest.max())


def main():
    controller = Controller()
    start = time.monotonic()
    next_line = start + 3.0
    open_for = 0
    while time.monotonic() - start < SECONDS:
        level = controller.forecast()
        open_for = open_for + 1 if level < ROOF else 0
        if time.monotonic() >= next_line:
            next_line += 3.0
            word = "open" if open_for else "closed"
            print(f"reading {controller.readings}: sump {level:.2f} m, passage {word}", flush=True)
        time.sleep(1.0 / READINGS_PER_SECOND)
    print(f"{controller.readings} readings, crest {controller.crest():.2f} m", flush=True)


if __name__ == "__main__":
    main()
