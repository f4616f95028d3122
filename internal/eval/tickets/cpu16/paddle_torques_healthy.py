"""A tide mill on an estuary drives three undershot wheels from one mill pool.

As the ebb runs, the miller's governor asks for the torque map of every wheel at the present head of water
(blade angle against speed of turning) and picks the sluice opening that grinds best without stalling a stone.

ticket: practice
class: none
"""
import math
import os
import time

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 1.0 / 16
TIDE_PERIOD = 2.4          # seconds of the run for one tide
ANGLES = 160
SPEEDS = 128
GRAVITY = 9.81
WATER = 1025.0


class Wheel:
    """One undershot wheel with flat floats."""

    def __init__(self, name, radius, width, floats):
        self.name = name
        self.radius = radius
        self.width = width
        self.floats = floats
        self.turn_rate = 0.4
        self.ground = 0.0

    def float_area(self):
        return 0.45 * self.width * (1.0 + 2.0 / self.floats)


class TorqueMaps:
    """Torque of a wheel over blade angle and speed, worked out once for each head of water."""

    def __init__(self, roughness):
        self.roughness = roughness
        self.angles = np.linspace(0.0, math.pi / 3.0, ANGLES)[:, None]
        self.speeds = np.linspace(0.05, 2.5, SPEEDS)[None, :]
        self._maps = {}
        self.asked = 0
        self.worked_out = 0

    def for_head(self, wheel, head):
        """The torque map of one wheel at a head given in metres."""
        self.asked += 1
        level = round(head, 1)
        key = (wheel.name, level)
        found = self._maps.get(key)
        if found is None:
            self.worked_out += 1
            found = self._work_out(wheel, level)
            self._maps[key] = found
        return found

    def _work_out(self, wheel, head):
        jet = math.sqrt(2.0 * GRAVITY * head) * (1.0 - self.roughness)
        rim = self.speeds * wheel.radius
        slip = np.clip(jet - rim, 0.0, None)
        push = WATER * wheel.float_area() * jet * slip
        return push * wheel.radius * np.cos(self.angles) ** 2


class Governor:
    """Chooses sluice opening and blade angle for the load on the stones."""

    def __init__(self, maps, rng):
        self.maps = maps
        self.rng = rng
        self.opening = 0.5

    def load(self, wheel):
        """Torque which the stones ask for at present, with the grain's ups and downs."""
        return 900.0 * wheel.width * (1.0 + 0.2 * self.rng.standard_normal())

    def settle(self, wheel, head):
        torque = self.maps.for_head(wheel, head) * self.opening
        spare = torque - max(self.load(wheel), 100.0)
        power = np.where(spare > 0.0, torque * self.maps.speeds, 0.0)
        best = int(power.argmax())
        angle, speed = divmod(best, SPEEDS)
        aim = float(self.maps.speeds[0, speed])
        wheel.turn_rate += 0.3 * (aim - wheel.turn_rate)
        wheel.ground += wheel.turn_rate * ROUND
        return float(power[angle, speed])

    def trim(self, power, wanted):
        if power < wanted:
            self.opening = min(1.0, self.opening + 0.02)
        else:
            self.opening = max(0.2, self.opening - 0.02)


def head_of_water(now):
    """Difference of level between pool and estuary, held by the spill board at both ends."""
    tide = 1.6 + 1.4 * math.sin(2.0 * math.pi * now / TIDE_PERIOD)
    swell = 0.11 * math.sin(9.7 * now)
    return min(max(tide + swell, 0.6), 2.4)


def main():
    rng = np.random.default_rng(4107)
    wheels = [Wheel("north", 2.1, 1.4, 24), Wheel("middle", 2.4, 1.6, 28), Wheel("south", 1.9, 1.2, 20)]
    maps = TorqueMaps(roughness=0.18)
    governor = Governor(maps, rng)
    began = time.monotonic()
    next_line = 3.0
    while True:
        now = time.monotonic() - began
        if now >= SECONDS:
            break
        head = head_of_water(now)
        power = sum(governor.settle(wheel, head + 0.01 * i) for i, wheel in enumerate(wheels))
        governor.trim(power, wanted=14000.0)
        if now >= next_line:
            turns = ", ".join(f"{wheel.name} {wheel.turn_rate:.2f}" for wheel in wheels)
            print(f"{now:6.1f} s  head {head:.2f} m  power {power / 1000.0:6.1f} kW  turning {turns}", flush=True)
            next_line += 3.0
        time.sleep(max(0.0, ROUND - (time.monotonic() - began - now)))
    ground = sum(wheel.ground for wheel in wheels)
    print(f"the ebb is over: {ground:.0f} radians ground, opening {governor.opening:.2f}", flush=True)


if __name__ == "__main__":
    main()
