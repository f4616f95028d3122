"""Seepage under the caisson of a dry dock. The harbour's head of water drives flow through the ground below the
gate; for each head the stream pattern is laid over the ground's layers, and pumps are set by what comes through
the sill. The tide goes up and down, waves ride on it, and the pump house asks again and again.

ticket: practice
class: app-leak
holder: _patterns
cause: cache-without-bound
"""
import math
import os
import random
import time
from collections import OrderedDict

import cupy

SECONDS = float(os.environ.get("SECONDS", "120"))

PERIOD = 1.0 / 6.0
GRID = 512
LAYERS = 48
PATTERNS = 20
TIDE_SECONDS = 40.0
PUMP_STEP = 0.05


class Harbour:
    """Height of the water before the gate, in metres above the sill."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.swell = 0.0

    def head(self, moment):
        tide = 6.0 + 2.2 * math.sin(2.0 * math.pi * moment / TIDE_SECONDS)
        self.swell = 0.7 * self.swell + self.rng.gauss(0.0, 0.15)
        return round(tide + self.swell, 4)


class Ground:
    """Layers of silt, sand and clay, each with how readily it lets water through."""

    def __init__(self, seed):
        rng = cupy.random.RandomState(seed)
        self.layers = cupy.exp(rng.standard_normal((LAYERS, GRID, GRID)).astype(cupy.float32) * 0.4)
        axis = cupy.linspace(0.0, 1.0, GRID, dtype=cupy.float32)
        self.depth, self.along = cupy.meshgrid(axis, axis, indexing="ij")

    def season(self, day):
        return self.layers[day % LAYERS]

    def pattern(self, head):
        """Stream pattern for a head: steep near the gate, fading with depth."""
        reach = 0.2 + 0.03 * head
        near = cupy.exp(-((self.along - 0.5) ** 2) / (reach * reach))
        fade = cupy.exp(-self.depth * (4.0 / head))
        return head * near * fade  # grows


class PatternStore:
    """Stream patterns by head, so that a head seen before need not be laid out anew."""

    def __init__(self, ground, size):
        self.ground = ground
        self.size = size
        self._patterns = OrderedDict()
        self.hits = 0
        self.misses = 0

    def get(self, head):
        if head in self._patterns:
            self.hits += 1
            self._patterns.move_to_end(head)
            return self._patterns[head]
        self.misses += 1
        pattern = self.ground.pattern(head)
        self._patterns[head] = pattern  # keeps
        return pattern


class PumpHouse:
    """Follows the inflow with pump power, a step at a time."""

    def __init__(self, store):
        self.store = store
        self.power = 1.0
        self.spilled = 0.0
        self.day = 0

    def round(self, head):
        flow = self.store.get(head) * self.store.ground.season(self.day)
        sill = flow[: GRID // 8, GRID // 2 - 32 : GRID // 2 + 32]
        inflow = float(sill.mean())
        if inflow > self.power:
            self.spilled += inflow - self.power
            self.power += PUMP_STEP
        else:
            self.power = max(self.power - PUMP_STEP, 0.0)
        self.day += 1
        return inflow


def main():
    harbour = Harbour(seed=81)
    house = PumpHouse(PatternStore(Ground(seed=82), PATTERNS))
    began = time.monotonic()
    due = began
    shown = began
    while time.monotonic() - began < SECONDS:
        head = harbour.head(time.monotonic() - began)
        inflow = house.round(head)
        if time.monotonic() - shown >= 3.0:
            shown = time.monotonic()
            print(
                f"round {house.day}: head {head:.2f} m, inflow {inflow:.2f}, pumps {house.power:.2f}, "
                f"known heads {house.store.hits} of {house.store.hits + house.store.misses}",
                flush=True,
            )
        due += PERIOD
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"gate watched for {house.day} rounds, spilled {house.spilled:.1f}", flush=True)


if __name__ == "__main__":
    main()
