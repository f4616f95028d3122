"""Ice resurfacing at a rink.

The surface of the ice is a field of heights that skaters cut up and a resurfacer smooths again. The machine drives
one of two patterns over the ice, with its blade set to one side by an offset that the driver trims. For each pass
there is a program of the device that lays water along the blade's trace, freezes it and shaves the ridges.

ticket: practice
class: app-leak
holder: _programs
cause: compiled-functions-kept cache-without-bound
"""
import os
import time

import jax
import jax.numpy as jnp
import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))

ROWS, COLUMNS = 600, 1100
PATTERNS = ("ovals", "spiral")
PASSES_PER_SECOND = 5
PASSES_PER_TRIM = 2
BLADE = 14.0


def blade_trace(pattern, offset):
    """Weight of the water that each spot of the ice gets from a pass."""
    y = jnp.linspace(-1.0, 1.0, ROWS, dtype=jnp.float32)[:, None]
    x = jnp.linspace(-1.8, 1.8, COLUMNS, dtype=jnp.float32)[None, :]
    if pattern == "ovals":
        way = jnp.sqrt(y * y + 0.3 * x * x) + 0.1 * offset
    else:
        way = jnp.sqrt(y * y + x * x) + jnp.arctan2(y, x) / (2 * jnp.pi) + 0.1 * offset
    return 0.5 + 0.5 * jnp.cos(BLADE * way)  # grows


class Resurfacer:
    """The machine, with its programs for the passes."""

    def __init__(self):
        self._programs = {}

    def trim(self, wanted):
        """Offset of the blade for what the driver wants; the lever has notches."""
        return float(np.clip(wanted, -1.5, 1.5))

    def program(self, pattern, offset):
        """The compiled pass for a pattern and an offset of the blade."""
        key = (pattern, offset)
        if key not in self._programs:
            trace = blade_trace(pattern, offset)

            def drive(ice, water):
                laid = ice + water * trace
                smooth = 0.25 * (jnp.roll(laid, 1, 0) + jnp.roll(laid, -1, 0)
                                 + jnp.roll(laid, 1, 1) + jnp.roll(laid, -1, 1))
                shaved = jnp.minimum(laid, smooth + 0.02)
                return ice + trace * (shaved - ice)

            self._programs[key] = jax.jit(drive)  # keeps
        return self._programs[key]


class Rink:
    """The ice and its skaters."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.ice = jnp.asarray(self.random.normal(0.0, 0.05, (ROWS, COLUMNS)), dtype=jnp.float32)
        rows = jnp.arange(ROWS, dtype=jnp.float32)[:, None]
        columns = jnp.arange(COLUMNS, dtype=jnp.float32)[None, :]

        def skate(ice, where, slope):
            away = rows - where - slope * columns
            return ice - 0.04 * jnp.exp(-0.05 * away * away)

        self._skate = jax.jit(skate)
        self._rough = jax.jit(lambda ice: jnp.std(ice))

    def skating(self, skaters):
        for _ in range(skaters):
            where = np.float32(self.random.uniform(0, ROWS))
            slope = np.float32(self.random.uniform(-0.4, 0.4))
            self.ice = self._skate(self.ice, where, slope)

    def roughness(self):
        return float(self._rough(self.ice))


class Shift:
    """A driver's shift: passes over the ice between the skaters."""

    def __init__(self, seed=7):
        self.rink = Rink(seed)
        self.machine = Resurfacer()
        self.driver = np.random.default_rng(seed + 1)
        self.wanted = 0.0
        self.passes = 0

    def one_pass(self):
        pattern = PATTERNS[self.passes // PASSES_PER_TRIM % len(PATTERNS)]
        if self.passes % PASSES_PER_TRIM == 0:
            side = self.passes // (PASSES_PER_TRIM * len(PATTERNS)) % 3 - 1
            self.wanted = side + float(self.driver.normal(0.0, 0.12))
        drive = self.machine.program(pattern, self.machine.trim(self.wanted))
        water = np.float32(max(0.0, 0.05 - 0.1 * self.rink.roughness()))
        self.rink.ice = drive(self.rink.ice, water)
        self.rink.ice.block_until_ready()
        self.passes += 1

    def turn(self):
        self.rink.skating(3)
        self.one_pass()


def main():
    shift = Shift()
    begin = time.monotonic()
    next_print = begin + 3.0
    while time.monotonic() - begin < SECONDS:
        started = time.monotonic()
        shift.turn()
        if started >= next_print:
            print(f"passes {shift.passes}  roughness {shift.rink.roughness():.4f}", flush=True)
            next_print += 3.0
        time.sleep(max(0.01, 1.0 / PASSES_PER_SECOND - (time.monotonic() - started)))
    print(f"shift over after {shift.passes} passes, roughness {shift.rink.roughness():.4f}", flush=True)


if __name__ == "__main__":
    main()
