"""Forecasts the surge below weirs. A registry holds one basin for each weir, with the shape of its bed; when boats have
surveyed a bed anew, the basin is made again from the soundings. The flow is computed by a compiled function, which
takes the settings and the bed as arguments.

ticket: practice
class: none
"""

import os
import random
import time
from dataclasses import dataclass
from functools import partial

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

ROWS, COLUMNS = 1536, 1536
WEIRS = "mill", "abbey", "ferry"


@dataclass(frozen=True)
class Settings:
    steps: int = 12
    pace: float = 0.2
    drag: float = 0.02


class Basin:
    def __init__(self, soundings, settings):
        self.settings = settings
        self.bed = jnp.asarray(soundings)

    @staticmethod
    @partial(jax.jit, static_argnums=0)
    def _advance(settings, bed, inflow):
        def step(_, depth):
            surface = bed + depth
            slope = (jnp.roll(surface, 1, 0) + jnp.roll(surface, -1, 0)
                     + jnp.roll(surface, 1, 1) + jnp.roll(surface, -1, 1) - 4 * surface)
            depth = depth + settings.pace * slope - settings.drag * depth
            return jnp.maximum(depth.at[0].add(inflow), 0.0)

        depth = jax.lax.fori_loop(0, settings.steps, step, jnp.full_like(bed, 0.5))
        return depth.max()

    def forecast(self, inflow):
        """The greatest depth that the inflow leads to."""
        return float(self._advance(self.settings, self.bed, inflow))


class Registry:
    def __init__(self, settings):
        self.settings, self.basins = settings, {}
        self.random = np.random.default_rng(7)
        for weir in WEIRS:
            self.survey(weir)

    def survey(self, weir):
        soundings = self.random.random((ROWS, COLUMNS), dtype=np.float32)
        self.basins[weir] = Basin(soundings, self.settings)

    def forecasts(self):
        for weir, basin in self.basins.items():
            yield weir, basin.forecast(random.uniform(0.1, 2.0))


def main():
    registry = Registry(Settings())
    hour, end = 0, time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        surges = dict(registry.forecasts())
        hour += 1
        if hour % 10 == 0:
            print(f"hour {hour}:", ", ".join(f"{weir} {surge:.2f} m" for weir, surge in surges.items()), flush=True)
        if hour % 2 == 0:
            registry.survey(random.choice(WEIRS))
        time.sleep(0.15)


if __name__ == "__main__":
    main()
