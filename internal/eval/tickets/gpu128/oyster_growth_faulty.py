"""Growth of oysters on the racks of a farm through the tides.

A rack's oysters filter the water at a rate that depends on temperature and on how long the rack is under water. The
exposure field of a rack in a tide is worked out once and used again by the feeding, growth and fouling models within
the same tide; the farm then moves on to the next tide.

ticket: practice
class: app-leak
holder: _fields
cause: cache-without-bound
"""
import os
import time

import jax
import jax.numpy as jnp

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 1.0 / 6.0
RACKS = 6
CELLS = (512, 512)
RECENT = 18


@jax.jit
def exposure_field(relief, height, amplitude, phase):
    """Share of the tide that each cell of the rack spends under water."""
    level = amplitude * jnp.cos(phase) + 0.2 * jnp.sin(2.0 * phase)
    submerged = jax.nn.sigmoid(4.0 * (level - height - relief))
    return submerged * (1.0 - 0.1 * relief)


@jax.jit
def feed(field, mass, temperature):
    clearance = 2.5 * jnp.exp(-((temperature - 21.0) / 9.0) ** 2)
    return clearance * field * mass ** 0.6


@jax.jit
def grow(mass, eaten, temperature):
    burnt = 0.02 * mass * 1.08 ** (temperature - 15.0)
    return jnp.clip(mass + 0.01 * (eaten - burnt), 0.05, 120.0)


@jax.jit
def fouling(field, mass):
    return jnp.mean(field * jnp.sqrt(mass))


class ExposureBook:
    """Exposure by rack and tide."""

    def __init__(self, reliefs, heights):
        self.reliefs = reliefs
        self.heights = heights
        self._fields = {}
        self.worked_out = 0

    def field(self, rack, tide):
        key = (rack, tide)
        if key not in self._fields:
            amplitude = 1.4 + 0.5 * float(jnp.cos(tide * 0.22))
            phase = 0.52 * tide
            made = exposure_field(self.reliefs[rack], self.heights[rack], amplitude, phase)  # grows
            self._fields[key] = made  # keeps
            self.worked_out += 1
        return self._fields[key]


class Farm:
    def __init__(self, seed):
        keys = jax.random.split(jax.random.PRNGKey(seed), RACKS)
        reliefs = [0.3 * jax.random.uniform(key, CELLS) for key in keys]
        heights = [0.1 * rack - 0.2 for rack in range(RACKS)]
        self.book = ExposureBook(reliefs, heights)
        self.mass = [2.0 + 0.5 * jax.random.normal(key, CELLS) ** 2 for key in keys]
        self.fouled = [0.0] * RACKS

    def tend(self, rack, tide):
        temperature = 14.0 + 6.0 * float(jnp.sin(tide * 0.01))
        eaten = feed(self.book.field(rack, tide), self.mass[rack], temperature)
        self.mass[rack] = grow(self.mass[rack], eaten, temperature)
        self.fouled[rack] += 0.001 * float(fouling(self.book.field(rack, tide), self.mass[rack]))
        if self.fouled[rack] > 1.0:
            self.fouled[rack] = 0.0
        return float(jnp.mean(self.mass[rack]))


def main():
    farm = Farm(seed=6)
    start = time.monotonic()
    rounds = 0
    weights = [0.0] * RACKS
    next_print = 3.0
    while True:
        now = time.monotonic() - start
        if now >= SECONDS:
            break
        tide, rack = divmod(rounds, RACKS)
        weights[rack] = farm.tend(rack, tide)
        rounds += 1
        if now >= next_print:
            print(f"{now:5.1f} s tide {tide} fields worked out {farm.book.worked_out} "
                  f"mean mass {sum(weights) / RACKS:.3f} g fouling {max(farm.fouled):.2f}", flush=True)
            next_print += 3.0
        time.sleep(max(0.0, start + rounds * ROUND - time.monotonic()))
    print(f"harvest after {rounds // RACKS} tides: mean mass {sum(weights) / RACKS:.3f} g", flush=True)


if __name__ == "__main__":
    main()
