"""On an overnight ferry the galley braises in deep pans while the ship rolls, which sloshes the stock about.
For each pan the program works out how heat and salt have spread when the lid comes off, and the sous-chef
compares it with the pans of the last dozen seconds to set the burners.

ticket: practice
class: host-growth
holder: finished
cause: results-kept
"""
import os
import time
from collections import deque

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 5
COMPARED_S = 12.0
REPORT_EVERY_S = 2.0
DEPTH, LENGTH = 120, 420
STEPS = 12
DISHES = ("oxtail", "lamb shank", "red cabbage", "beef cheek")


class Ship:
    """Roll of the hull, as the galley feels it."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self._periods = rng.uniform(6.0, 14.0, 4)
        self._heights = rng.uniform(0.5, 2.0, 4)

    def roll(self, now):
        return float((self._heights * np.sin(2 * np.pi * now / self._periods)).sum())


class Braise:
    """What one pan came to: its dish, when its lid came off, and the temperatures across it."""

    def __init__(self, dish, lifted, field):
        self.dish = dish
        self.lifted = lifted
        self.field = field

    def core(self):
        return float(self.field[DEPTH // 3: 2 * DEPTH // 3, LENGTH // 3: 2 * LENGTH // 3].mean())

    def unevenness(self):
        return float(self.field.max() - self.field.min())


class PanModel:
    """Explicit diffusion in a pan heated from below, with the stock pushed to the lower side."""

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)
        self._work = np.empty((DEPTH, LENGTH), dtype=np.float32)

    def cook(self, burner, roll):
        field = self._rng.random((DEPTH, LENGTH), dtype=np.float32)  # grows
        field *= 4.0
        field += 60.0
        shift = int(np.clip(roll, -6, 6))
        for _ in range(STEPS):
            field[-1, :] = burner
            self._work[1:-1, 1:-1] = field[:-2, 1:-1] + field[2:, 1:-1] + field[1:-1, :-2] + field[1:-1, 2:]
            self._work[1:-1, 1:-1] -= 4.0 * field[1:-1, 1:-1]
            field[1:-1, 1:-1] += 0.2 * self._work[1:-1, 1:-1]
        if shift:
            field[:] = np.roll(field, shift, axis=1)
        return field


class Galley:
    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)
        self._model = PanModel(seed + 1)
        self._ship = Ship(seed + 2)
        self.burners = dict.fromkeys(DISHES, 150.0)
        self.finished = deque()
        self.served = 0

    def lift_lids(self, now):
        for dish in DISHES:
            field = self._model.cook(self.burners[dish], self._ship.roll(now))
            self.finished.append(Braise(dish, now, field))  # keeps
            self.served += 1

    def compare(self, now):
        horizon = now - COMPARED_S
        cores = {dish: [] for dish in DISHES}
        for braise in reversed(self.finished):
            if braise.lifted < horizon:
                break
            cores[braise.dish].append(braise.core())
        return {dish: float(np.mean(values)) for dish, values in cores.items() if values}

    def set_burners(self, now):
        for dish, core in self.compare(now).items():
            wanted = 150.0 + 12.0 * (62.5 - core) + self._rng.normal(0.0, 1.0)
            self.burners[dish] += 0.2 * (float(np.clip(wanted, 90.0, 240.0)) - self.burners[dish])


def main():
    galley = Galley(seed=208)
    began = reported = time.monotonic()
    while (now := time.monotonic()) - began < SECONDS:
        galley.lift_lids(now)
        galley.set_burners(now)
        if now - reported >= REPORT_EVERY_S:
            hottest = max(galley.burners, key=galley.burners.get)
            latest = galley.finished[-1]
            print(f"{now - began:6.1f} s  {galley.served} pans  hottest burner {hottest}  "
                  f"{latest.dish} uneven by {latest.unevenness():.1f} K", flush=True)
            reported = now
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - now)))
    settings = ", ".join(f"{dish} {burner:.0f}" for dish, burner in galley.burners.items())
    print(f"in port: {galley.served} pans served; burners {settings}", flush=True)


if __name__ == "__main__":
    main()
