"""Trapdoor cues on an opera stage.

The stage floor has three trapdoors that carry singers and scenery up from the cellar. Before a cue the platform
is weighed; while the cue runs, the bending of the floor around the trap is worked out many times a second for
the place where the lift stands just then. The steps of that work are always the same, so that they are recorded
once and played back.

ticket: practice
class: none
"""

import os
import random
import time
from dataclasses import dataclass

import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_A_SECOND = 10
ROUNDS_A_CUE = 12
FLOOR = (1536, 2048)
TRAPS = {"front": (0.2, 0.5), "left": (0.6, 0.3), "right": (0.6, 0.7)}


@dataclass(frozen=True)
class Cue:
    trap: str
    load: float


class Floor:
    """The boards of the stage, as a grid of places with their distance from each trap."""

    def __init__(self):
        height, width = FLOOR
        self.depth = torch.linspace(0.0, 1.0, height, device=DEVICE).unsqueeze(1)
        self.across = torch.linspace(0.0, 1.0, width, device=DEVICE).unsqueeze(0)

    def bend(self, trap, inputs):
        """Bending of the floor; `inputs` has the load and the height of the lift."""
        centre_depth, centre_across = TRAPS[trap]
        load, height = inputs[0], inputs[1]
        near_depth = torch.exp(-((self.depth - centre_depth) ** 2) * 30.0)
        near_across = torch.exp(-((self.across - centre_across) ** 2) * 30.0)
        surface = near_depth * near_across
        surface.mul_(load).mul_(1.0 - 0.5 * height)
        surface.add_(near_depth * 0.01)
        return surface


class Plan:
    """The recorded work for a cue: inputs are filled in, the surface is read after a play."""

    side_stream = None

    def __init__(self, floor, trap):
        self.floor = floor
        self.trap = trap
        self.inputs = torch.zeros(2, device=DEVICE)
        self.graph = None
        self.surface = None
        if DEVICE == "cuda":
            self.record()
        else:
            self.surface = floor.bend(trap, self.inputs)

    def record(self):
        if Plan.side_stream is None:
            Plan.side_stream = torch.cuda.Stream()
        Plan.side_stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(Plan.side_stream):
            self.floor.bend(self.trap, self.inputs)
        torch.cuda.current_stream().wait_stream(Plan.side_stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.surface = self.floor.bend(self.trap, self.inputs)

    def play(self, load, height):
        self.inputs.copy_(torch.tensor([load, height]))
        if self.graph is not None:
            self.graph.replay()
        else:
            self.surface.copy_(self.floor.bend(self.trap, self.inputs))
        return self.surface


class StageEngine:
    """Finds the plan for a cue and runs it."""

    def __init__(self, floor):
        self.floor = floor
        self._plans = {}

    def plan_for(self, cue):
        key = cue.trap
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = Plan(self.floor, cue.trap)
        return plan

    def run(self, cue, height):
        surface = self.plan_for(cue).play(cue.load, height)
        return float(surface[::8, ::8].max())


def main():
    dice = random.Random(1876)
    engine = StageEngine(Floor())
    traps = list(TRAPS)
    cue = None
    largest = 0.0
    start = time.monotonic()
    round_number = 0
    while time.monotonic() - start < SECONDS:
        step = round_number % ROUNDS_A_CUE
        if step == 0:
            trap = traps[round_number // ROUNDS_A_CUE % len(traps)]
            cue = Cue(trap, round(dice.uniform(80.0, 900.0), 1))
        bending = engine.run(cue, height=step / ROUNDS_A_CUE)
        largest = max(largest, bending)
        round_number += 1
        if round_number % 25 == 0:
            print(f"trap {cue.trap}, load {cue.load:.0f} kg, bending {bending:.1f}", flush=True)
        time.sleep(1.0 / ROUNDS_A_SECOND)
    print(f"{round_number} rounds, largest bending {largest:.1f}", flush=True)


if __name__ == "__main__":
    main()
