"""Heat over the drying floors of an oast house.

Hops dry on slatted floors above the burners. A heat camera looks down on every floor in turn; a
floor with a hot spot would scorch the cones, so the burner below it is throttled and the bed is
raked before the drier goes on. Floors that read evenly are given more heat.

ticket: practice
class: app-leak
holder: last_fault
cause: exception-kept
"""
import os
import time
from itertools import cycle

import torch
import torch.nn.functional as F

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
FLOORS = ("north", "east", "south", "west")
SIDE = 448
ROUNDS_PER_SECOND = 8


class HotSpot(Exception):
    """Some part of a floor is too hot for the hops on it."""

    def __init__(self, floor, degrees, row, column):
        super().__init__(f"{degrees:.1f} degrees on the {floor} floor at {row}/{column}")
        self.floor = floor
        self.degrees = degrees


class HeatCamera:
    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        axis = torch.linspace(-1.0, 1.0, SIDE, device=DEVICE)
        self.rows, self.columns = torch.meshgrid(axis, axis, indexing="ij")
        self.slats = 0.4 * torch.sin(60.0 * self.columns)

    def look(self, burner):
        """Degrees over a floor: a broad plume of hot air and the pattern of the slats."""
        row, column = (1.6 * torch.rand(2, generator=self.generator) - 0.8).tolist()
        draught = 6.0 * float(torch.randn((), generator=self.generator))
        away = (self.rows - row) ** 2 + (self.columns - column) ** 2
        return 48.0 + self.slats + (burner + draught) * torch.exp(-3.0 * away)  # grows


class Floor:
    def __init__(self, name):
        self.name = name
        self.burner = 14.0
        self.moisture = 0.75
        self.raked = 0

    def dry(self, degrees):
        self.moisture -= 0.0004 * max(0.0, degrees - 40.0) * self.moisture
        if self.moisture < 0.1:
            self.moisture = 0.75


class Drier:
    """The man who watches the floors."""

    LIMIT = 62.0

    def __init__(self, seed=1743):
        self.camera = HeatCamera(seed)
        self.floors = [Floor(name) for name in FLOORS]
        self.last_fault = None
        self.rounds = 0
        self.faults = 0

    def inspect(self, floor):
        heat = self.camera.look(floor.burner)
        evened = F.avg_pool2d(heat[None, None], 9, stride=1, padding=4)[0, 0]  # grows
        degrees = float(evened.max())
        if degrees > self.LIMIT:
            row, column = divmod(int(evened.argmax()), SIDE)
            raise HotSpot(floor.name, degrees, row, column) from self.last_fault  # keeps
        return float(heat.mean())

    def attend(self, floor):
        """One visit: dry on where the heat is even, throttle and rake where it is not."""
        self.rounds += 1
        try:
            degrees = self.inspect(floor)
        except HotSpot as fault:
            self.last_fault = fault  # keeps
            self.faults += 1
            self._calm(floor, fault)
        else:
            floor.dry(degrees)
            floor.burner = min(20.0, floor.burner + 0.6)

    def _calm(self, floor, fault):
        floor.burner = max(8.0, floor.burner - 0.4 * (fault.degrees - self.LIMIT))
        floor.raked += 1

    def report(self):
        moisture = " ".join(f"{floor.name} {floor.moisture:.0%}" for floor in self.floors)
        return f"round {self.rounds}, {self.faults} hot spots: {moisture}"


def main():
    drier = Drier()
    start = time.monotonic()
    next_line = start + 3.0
    for floor in cycle(drier.floors):
        if time.monotonic() - start >= SECONDS:
            break
        drier.attend(floor)
        if time.monotonic() >= next_line:
            next_line += 3.0
            print(drier.report(), flush=True)
        time.sleep(1.0 / ROUNDS_PER_SECOND)
    print(f"fires drawn; last fault: {drier.last_fault}", flush=True)


if __name__ == "__main__":
    main()
