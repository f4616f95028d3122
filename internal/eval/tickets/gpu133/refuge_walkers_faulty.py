"""
Companion service for walkers between mountain refuges. Whoever sets out gets a watch with a badge; the service keeps
a map of snow and slope around the walker, moves the walker over it and gives a safe pace, until the walker arrives at
the next refuge and hands the watch back.

ticket: practice
class: app-leak
holder: _under_way
cause: sessions-kept
"""
import os
import random
import time

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 12
MAP_ROWS, MAP_COLUMNS = 256, 512
LEG_STEPS = (14, 26)
STAGES = (
    ("Grauhorn", "Lago Nero"),
    ("Lago Nero", "Weisskees"),
    ("Weisskees", "Dent Noire"),
    ("Dent Noire", "Grauhorn"),
)


class Walker:
    """One walk from refuge to refuge, with the map that goes along."""

    def __init__(self, badge, stage, terrain, steps):
        self.badge = badge
        self.origin, self.goal = stage
        self.terrain = terrain
        self.steps_left = steps
        self.row = MAP_ROWS // 2
        self.column = 16
        self.pace = 1.0

    @property
    def arrived(self):
        return self.steps_left <= 0

    def advance(self, sidestep):
        self.row = min(max(self.row + sidestep, 8), MAP_ROWS - 8)
        self.column = min(self.column + 16, MAP_COLUMNS - 16)
        around = self.terrain[self.row - 8:self.row + 8, self.column - 16:self.column + 16]
        self.pace = 1.0 / (1.0 + float(around.abs().mean()))
        self.steps_left -= 1


class TerrainSource:
    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.relief = torch.linspace(-1.0, 1.0, MAP_COLUMNS, device=DEVICE)

    def map_for_stage(self):
        terrain = torch.randn(MAP_ROWS, MAP_COLUMNS, generator=self.generator, device=DEVICE)  # grows
        return terrain.mul_(0.3).add_(self.relief)


class Companion:
    def __init__(self, seed):
        self.terrain_source = TerrainSource(seed)
        self.rng = random.Random(seed)
        self._under_way = {}
        self.next_badge = 1
        self.arrivals = {}
        self.mean_pace = 1.0

    def set_out(self):
        stage = self.rng.choice(STAGES)
        walker = Walker(self.next_badge, stage, self.terrain_source.map_for_stage(), self.rng.randint(*LEG_STEPS))
        self._under_way[(walker.origin, walker.badge)] = walker  # keeps
        self.next_badge += 1

    def walkers(self):
        return [walker for walker in self._under_way.values() if not walker.arrived]

    def hand_back(self, walker):
        self.arrivals[walker.goal] = self.arrivals.get(walker.goal, 0) + 1
        self._under_way.pop((walker.goal, walker.badge), None)

    def step(self):
        self.set_out()
        for walker in self.walkers():
            walker.advance(self.rng.randint(-3, 3))
            self.mean_pace += 0.02 * (walker.pace - self.mean_pace)
            if walker.arrived:
                self.hand_back(walker)


def report(companion, rounds):
    arrivals = ", ".join(f"{goal} {count}" for goal, count in sorted(companion.arrivals.items()))
    print(
        f"round {rounds}: {len(companion.walkers())} walkers on the paths, pace {companion.mean_pace:.2f}, "
        f"arrivals {arrivals}",
        flush=True,
    )


def main():
    companion = Companion(seed=2907)
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        companion.step()
        rounds += 1
        if rounds % (ROUNDS_PER_SECOND * 4) == 0:
            report(companion, rounds)
        pause = start + rounds / ROUNDS_PER_SECOND - time.monotonic()
        if pause > 0:
            time.sleep(pause)
    print(f"evening call: {sum(companion.arrivals.values())} walkers arrived today", flush=True)


if __name__ == "__main__":
    main()
