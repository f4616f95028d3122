"""Watching the arches of an old aqueduct while water runs through its channel.

Gauges on the channel give the level of the water; from it follows the load on an arch, and from the load the
stress in its stones, at the upstream and at the downstream face. Solving for the stress is dear, so both faces share
the solved surface. Every eight seconds a full survey of the whole row of arches is held ready for three seconds.

ticket: practice
class: app-leak
holder: _surfaces
cause: cache-without-bound
"""
import math
import os
import random
import time
from collections import OrderedDict

import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
READINGS_PER_SECOND = 8
COURSES, STONES = 256, 512
ARCHES = 9
SURVEY_CYCLE = 8 * READINGS_PER_SECOND
SURVEY_BEGINS = 3 * READINGS_PER_SECOND
SURVEY_ENDS = 6 * READINGS_PER_SECOND
SURVEY_SECTIONS = 10


class Masonry:
    """Geometry and stiffness of the arches."""

    def __init__(self):
        self.stiffness = 1.0 + 0.15 * torch.rand(ARCHES, COURSES, STONES, device=DEVICE)
        course = torch.linspace(0.0, 1.0, COURSES, device=DEVICE)
        stone = torch.linspace(-1.0, 1.0, STONES, device=DEVICE)
        self.height, self.span = torch.meshgrid(course, stone, indexing="ij")
        self.thrust = 1.0 / (0.3 + self.span.square())

    def solve(self, arch, level):
        load = level * self.thrust * torch.exp(-2.0 * self.height)
        stress = load
        for _ in range(3):
            stress = 0.5 * stress + 0.25 * (stress.roll(1, 1) + stress.roll(-1, 1))
        return stress / self.stiffness[arch]  # grows


class StressTable:
    """Solved surfaces by arch and level."""

    def __init__(self, masonry):
        self.masonry = masonry
        self.solved = 0
        self._surfaces = OrderedDict()

    def surface(self, arch, level):
        key = (arch, level)
        found = self._surfaces.get(key)
        if found is None:
            found = self.masonry.solve(arch, level)
            self._surfaces[key] = found  # keeps
            self.solved += 1
        else:
            self._surfaces.move_to_end(key)
        return found

    def upstream(self, arch, level):
        return float(self.surface(arch, level)[:, : STONES // 2].max())

    def downstream(self, arch, level):
        return float(self.surface(arch, level)[:, STONES // 2 :].max())


class Gauge:
    """Level of the water in the channel, with waves on it."""

    def __init__(self, seed=19):
        self.chance = random.Random(seed)

    def read(self, number):
        calm = 1.2 + 0.25 * math.sin(number / 40.0)
        return round(calm + self.chance.gauss(0.0, 0.03), 6)


class Survey:
    """The full survey of all sections, there only while it is wanted."""

    def __init__(self):
        self.sections = None

    def follow(self, number):
        phase = number % SURVEY_CYCLE
        if phase == SURVEY_BEGINS:
            self.sections = [torch.full((25, 512, 512), 0.1 * (place + 1), device=DEVICE)
                             for place in range(SURVEY_SECTIONS)]
        elif phase == SURVEY_ENDS:
            self.sections = None

    def settle(self, stress):
        if self.sections is None:
            return 0.0
        section = self.sections[int(stress * 10) % SURVEY_SECTIONS]
        return float(section[0].mean()) * stress


def main():
    torch.manual_seed(19)
    table = StressTable(Masonry())
    gauge = Gauge()
    survey = Survey()
    start = time.monotonic()
    number = 0
    highest = 0.0
    while time.monotonic() - start < SECONDS:
        arch = number % ARCHES
        level = gauge.read(number)
        survey.follow(number)
        stress = max(table.upstream(arch, level), table.downstream(arch, level))
        highest = max(highest, stress)
        settled = survey.settle(stress)
        number += 1
        if number % 20 == 0:
            print(f"reading {number}: level {level:.2f} m, arch {arch} at {stress:.3f}, settled {settled:.3f}",
                  flush=True)
        time.sleep(max(0.0, start + number / READINGS_PER_SECOND - time.monotonic()))
    print(f"{number} readings, {table.solved} surfaces solved, highest stress {highest:.3f}", flush=True)


if __name__ == "__main__":
    main()
