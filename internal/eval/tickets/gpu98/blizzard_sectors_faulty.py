"""Planning of snow clearing, sector by sector, while a blizzard is on.

A dispatcher asks how the snow of a sector will lie in half an hour under the wind of the moment. The answer is a map of
drifted depths, made by a small model of snow that the wind carries along. Maps are used again for requests of
the same sector and wind, and crews go where the map has the deepest drifts.

ticket: practice
class: app-leak
holder: _maps
cause: cache-without-bound
"""
import os
import time
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

SECONDS = float(os.environ.get("SECONDS", "45"))
SECTORS = ("harbour", "old town", "heights")
SIDE = 448
STEPS = 6
REQUESTS_A_SECOND = 12


@dataclass(frozen=True)
class Request:
    """A dispatcher's question: one sector, under one wind."""

    sector: int
    wind: float


@partial(jax.jit, static_argnames="steps")
def carry(depth, shelter, wind, steps):
    """Depths after the wind has carried loose snow eastwards, into the lee of the houses."""

    def step(_, snow):
        loose = jnp.minimum(snow, 0.05) * wind / 10.0 * (1.0 - shelter)
        arriving = jnp.roll(loose, 1, axis=1)
        settled = snow - loose + arriving
        around = jnp.roll(settled, 1, axis=0) + jnp.roll(settled, -1, axis=0)
        return 0.96 * settled + 0.02 * around

    return jax.lax.fori_loop(0, steps, step, depth)


@jax.jit
def deepest(drifts):
    """Mean and greatest depth, and the row of the map with most snow."""
    rows = drifts.sum(axis=1)
    return drifts.mean(), drifts.max(), rows.argmax()


class Town:
    """Depths and shelter of all sectors at the start of the blizzard."""

    def __init__(self, seed):
        depth_key, shelter_key = jax.random.split(jax.random.PRNGKey(seed))
        shape = (len(SECTORS), SIDE, SIDE)
        self.depth = 0.2 + 0.3 * jax.random.uniform(depth_key, shape)
        self.shelter = jax.random.uniform(shelter_key, shape)
        self.sectors = [(self.depth[i], self.shelter[i]) for i in range(len(SECTORS))]


class Planner:
    """Answers requests with drift maps and picks streets for the crews."""

    def __init__(self, town):
        self.town = town
        self._maps = {}
        self.asked = 0
        self.computed = 0

    def drifts(self, request):
        key = request.sector, round(request.wind, 3)
        if key not in self._maps:
            depth, shelter = self.town.sectors[request.sector]
            drifted = carry(depth, shelter, request.wind, steps=STEPS)  # grows
            self._maps[key] = drifted  # keeps
            self.computed += 1
        return self._maps[key]

    def answer(self, request):
        self.asked += 1
        mean, greatest, street = deepest(self.drifts(request))
        return float(mean), float(greatest), int(street)


class Control:
    """Control room: the requests as they come in, and the tours of the crews."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.tours = {name: 0 for name in SECTORS}

    def next_request(self, number):
        wind = float(self.random.uniform(5.5, 8.4))
        return Request(number % len(SECTORS), wind)

    def send_crew(self, request):
        self.tours[SECTORS[request.sector]] += 1


def main():
    planner = Planner(Town(seed=40))
    control = Control(seed=41)
    end = time.monotonic() + SECONDS
    report_at = time.monotonic() + 2.0
    mean = greatest = 0.0
    while time.monotonic() < end:
        began = time.monotonic()
        request = control.next_request(planner.asked)
        mean, greatest, street = planner.answer(request)
        if greatest > 0.5:
            control.send_crew(request)
        if time.monotonic() >= report_at:
            print(f"{planner.asked} requests, {planner.computed} maps made; {SECTORS[request.sector]}: "
                  f"mean {mean:.3f} m, drift {greatest:.3f} m, start in street {street}", flush=True)
            report_at += 3.0
        time.sleep(max(0.0, 1.0 / REQUESTS_A_SECOND - (time.monotonic() - began)))
    print(f"blizzard over: {planner.asked} requests, tours {control.tours}", flush=True)


if __name__ == "__main__":
    main()
