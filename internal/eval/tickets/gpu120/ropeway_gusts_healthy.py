"""Forecasts how cabins of a ropeway swing in gusts of wind.
The control room asks for a cabin at a span in a wind from a direction; the answer is the path of the swing for the
next minutes and holds good for twelve seconds, in which the same question gets the same answer.

ticket: practice
class: none
"""
import os
import random
import time
from dataclasses import dataclass

import torch

torch.set_num_threads(1)
torch.manual_seed(77)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_S = 12
GOOD_FOR_S = 12.0
SWEEP_EVERY_S = 1.0
STEPS = 256
MODES = 512


@dataclass(frozen=True)
class Question:
    cabin: int
    span: int
    gust_at: int
    bearing: int


@dataclass
class Answer:
    path: torch.Tensor
    good_until: float


class SwingModel:
    """Modes of the rope and of a hanging cabin, driven by a gust."""

    def __init__(self):
        self.modes = torch.randn(MODES, MODES, device=DEVICE) / MODES ** 0.5
        self.damping = torch.linspace(0.02, 0.4, MODES, device=DEVICE)
        self.clock = torch.arange(STEPS, device=DEVICE, dtype=torch.float32).unsqueeze(1)

    def swing(self, question):
        phase = 0.1 * question.span + 0.017 * question.bearing
        free = torch.cos(self.clock * 0.3 + phase) * torch.exp(-self.clock * self.damping)
        return free @ self.modes


class Forecaster:
    def __init__(self, model):
        self._model = model
        self._answers = {}
        self._next_sweep = time.monotonic() + SWEEP_EVERY_S
        self.hits = 0
        self.misses = 0

    def ask(self, question):
        answer = self._answers.get(question)
        if answer is not None and answer.good_until > time.monotonic():
            self.hits += 1
            return answer.path
        self.misses += 1
        path = self._model.swing(question)
        self._answers[question] = Answer(path, good_until=time.monotonic() + GOOD_FOR_S)
        return path

    def sweep(self):
        now = time.monotonic()
        if now < self._next_sweep:
            return
        self._next_sweep = now + SWEEP_EVERY_S
        stale = [question for question, answer in self._answers.items() if answer.good_until <= now]
        for question in stale:
            del self._answers[question]


class ControlRoom:
    """Asks about the cabin that nears a pylon, and once more about the one before."""

    def __init__(self, forecaster):
        self._forecaster = forecaster
        self._random = random.Random(5)
        self._gusts = 0
        self._before = None
        self.widest = 0.0

    def watch(self):
        self._gusts += 1
        question = Question(
            cabin=self._gusts % 44,
            span=self._random.randrange(9),
            gust_at=self._gusts,
            bearing=self._random.randrange(0, 360, 15),
        )
        width = float(self._forecaster.ask(question).abs().max())
        if self._before is not None:
            width = max(width, float(self._forecaster.ask(self._before).abs().max()))
        self._before = question
        self.widest = max(self.widest * 0.99, width)

    def advice(self):
        return "slow" if self.widest > 4.5 else "full speed"


def main():
    forecaster = Forecaster(SwingModel())
    room = ControlRoom(forecaster)
    start = time.monotonic()
    tick = start
    said = start
    with torch.no_grad():
        while time.monotonic() - start < SECONDS:
            room.watch()
            forecaster.sweep()
            if time.monotonic() - said >= 3.0:
                said = time.monotonic()
                print(
                    f"{said - start:5.1f} s: {forecaster.misses} forecasts, {forecaster.hits} asked again, "
                    f"widest swing {room.widest:.2f}, {room.advice()}",
                    flush=True,
                )
            tick += 1.0 / ROUNDS_PER_S
            time.sleep(max(0.0, tick - time.monotonic()))
    print(f"line closed after {forecaster.misses} forecasts", flush=True)


if __name__ == "__main__":
    main()
