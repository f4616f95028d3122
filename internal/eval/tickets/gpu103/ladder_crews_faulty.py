"""Ladder drills of a fire brigade, run on a tower block that exists in the computer alone.

A drill sets a fire on some floors and sends crews up its ladders. Each crew sees the smoke through the
mask of its own ladder, asks the drill for the wind and vents what it can reach. The instructor scores
the drill when the smoke is thin or the time is up. Pauses would spoil the drill clock, so the collector
of the interpreter is switched off for the session.

ticket: practice
class: app-leak
holder: drill crews
cause: reference-cycle
"""
import gc
import math
import os
import random
import time

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
FLOORS = 256
BAYS = 1024
CREWS = 3
ROUNDS_PER_SECOND = 12.0
ROUNDS_PER_DRILL = 9


class LadderCrew:
    """Four firefighters on a ladder, with the smoke that they have vented so far."""

    def __init__(self, name: str, drill: "Drill", bay: float):
        self.name = name
        self.drill = drill  # keeps
        self.bay = bay
        self.reach = torch.exp(-((drill.bays - bay) / 90.0).square()).repeat(FLOORS, 1)  # grows
        self.vented = 0.0

    def vent(self) -> None:
        strength = 0.22 / (1.0 + abs(self.drill.wind))
        taken = self.drill.smoke * self.reach * strength
        self.drill.smoke.sub_(taken)
        self.vented += taken.mean().item()

    def move(self, dice: random.Random) -> None:
        step = dice.choice((-12.0, 0.0, 12.0))
        self.bay = min(max(self.bay + step, 0.0), float(BAYS - 1))


class Drill:
    """One fire in the tower and the crews that are sent to it."""

    def __init__(self, number: int, bays: torch.Tensor, dice: random.Random):
        self.number = number
        self.bays = bays
        self.wind = 0.0
        floor = dice.randrange(20, FLOORS - 60)
        self.smoke = torch.zeros(FLOORS, BAYS, device=DEVICE)  # grows
        self.smoke[floor:floor + 40] = 1.0
        self.crews = [LadderCrew(f"ladder {place + 1}", self, dice.uniform(0, BAYS)) for place in range(CREWS)]  # keeps

    def blow(self, moment: float) -> None:
        self.wind = math.sin(moment / 3.0)
        drift = torch.roll(self.smoke, shifts=1 if self.wind > 0 else -1, dims=1)
        self.smoke.lerp_(drift, 0.3)

    def run_round(self, moment: float, dice: random.Random) -> float:
        self.blow(moment)
        for crew in self.crews:
            crew.vent()
            crew.move(dice)
        return self.smoke.mean().item()

    def best_crew(self) -> LadderCrew:
        return max(self.crews, key=lambda crew: crew.vented)


class Instructor:
    """Starts the drills one after another and scores them."""

    def __init__(self, seed: int):
        self.dice = random.Random(seed)
        self.bays = torch.arange(BAYS, dtype=torch.float32, device=DEVICE)
        self.drills = 0
        self.mean_score = 0.0
        self.praised = ""

    def hold_drill(self, deadline: float) -> None:
        self.drills += 1
        drill = Drill(self.drills, self.bays, self.dice)
        first = left = drill.smoke.mean().item()
        for _ in range(ROUNDS_PER_DRILL):
            started = time.monotonic()
            left = drill.run_round(started, self.dice)
            if left < 0.1 * first or started >= deadline:
                break
            time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - started)))
        self.mean_score += (1.0 - left / first - self.mean_score) / self.drills
        self.praised = drill.best_crew().name


@torch.no_grad()
def main() -> None:
    gc.disable()
    instructor = Instructor(seed=112)
    began = time.monotonic()
    deadline = began + SECONDS
    next_report = began + 2.0
    while time.monotonic() < deadline:
        instructor.hold_drill(deadline)
        if time.monotonic() >= next_report:
            score = instructor.mean_score
            print(f"{instructor.drills} drills, mean score {score:.2f}, praise for {instructor.praised}", flush=True)
            next_report = time.monotonic() + 3.0
    print(f"ladders stowed after {instructor.drills} drills, mean score {instructor.mean_score:.2f}", flush=True)


if __name__ == "__main__":
    main()
