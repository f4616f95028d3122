"""How much of a lighthouse's light falls on the waters that each passing ship has charted.

The lamp turns over a chart of the bay, six turns to the second, and haze comes and goes. Every ship in sight has
a reception chart of its own, on which the light of each turn is laid with the gain of the ship's lookout, while
what was seen before fades slowly. When a ship has passed the headland her figures, the best and the mean light
on her chart, go into the harbour's table of the day, and another ship comes into sight.

ticket: practice
class: app-leak
holder: listeners chart
cause: callbacks-left
"""
import os
import time
from collections import deque

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

ROWS, COLS = 512, 1024
TURN = 1.0 / 6
IN_SIGHT = 8


@jax.jit
def sweep(angle, haze):
    """The light on the water while the beam points at the angle."""
    north = jnp.linspace(0.0, 1.0, ROWS, dtype=jnp.float32)[:, None]
    east = jnp.linspace(-1.0, 1.0, COLS, dtype=jnp.float32)[None, :]
    reach = jnp.hypot(north, east) + 0.02
    apart = jnp.arctan2(north, east) - angle
    core = jnp.exp(-40.0 * apart * apart) + 0.02
    return core * jnp.exp(-haze * reach) / (1.0 + 4.0 * reach * reach)


@jax.jit
def lay(chart, light, gain):
    return 0.97 * chart + gain * light


@jax.jit
def figures(chart):
    return jnp.stack((chart.max(), chart.mean()))


class Lamp:
    def __init__(self):
        self.listeners = []
        self.angle = 0.0
        self.rng = np.random.default_rng(8)

    def listen(self, listener):
        self.listeners.append(listener)  # keeps

    def turn(self):
        self.angle = (self.angle + 0.37) % np.pi
        haze = np.float32(1.0 + 2.0 * self.rng.random())
        light = sweep(np.float32(self.angle), haze)
        for listener in list(self.listeners):
            listener(light)
        return light


class Ship:
    def __init__(self, number, gain):
        self.number = number
        self.gain = np.float32(gain)
        self.chart = jnp.zeros((ROWS, COLS), dtype=jnp.float32)
        self.passed = False

    def lit(self, light):
        if self.passed:
            return
        self.chart = lay(self.chart, light, self.gain)  # grows

    def report(self):
        best, mean = np.asarray(figures(self.chart))
        return float(best), float(mean)


class Harbour:
    """Ships come into sight and pass, and the table of the day has their figures."""

    def __init__(self, lamp):
        self.lamp = lamp
        self.in_sight = deque()
        self.table = deque(maxlen=50)
        self.count = 0
        self.rng = np.random.default_rng(9)

    def arrive(self):
        self.count += 1
        ship = Ship(self.count, 0.5 + self.rng.random())
        self.in_sight.append(ship)
        self.lamp.listen(ship.lit)

    def depart(self):
        ship = self.in_sight.popleft()
        ship.passed = True
        self.table.append((ship.number,) + ship.report())


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    lamp = Lamp()
    harbour = Harbour(lamp)
    print(f"lamp lit on {jax.devices()[0].platform}", flush=True)
    turns = 0
    while time.time() < end:
        began = time.time()
        harbour.arrive()
        lamp.turn().block_until_ready()
        turns += 1
        if len(harbour.in_sight) > IN_SIGHT:
            harbour.depart()
        if turns % 30 == 0 and harbour.table:
            number, best, mean = harbour.table[-1]
            print(f"turn {turns}: ship {number} saw {best:.3f} at best, {mean:.4f} on the whole", flush=True)
        time.sleep(max(0.0, TURN - (time.time() - began)))
    print(f"lamp out after {turns} turns and {harbour.count} ships", flush=True)


if __name__ == "__main__":
    main()
