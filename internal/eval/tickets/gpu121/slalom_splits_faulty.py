"""Forecasts of split times for a canoe slalom meet. Each start sends an ensemble of simulated paddlers down the
course; the river field, the gates and a paddler's strength give the time at every sample of the line. At the
end of a heat the jury gets the order of the bibs, touches included.

ticket: practice
class: app-leak
holder: finished results
cause: results-kept
"""
import os
import random
import time
from dataclasses import dataclass, field

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))

PERIOD = 0.25
HEAT_SIZE = 16
ENSEMBLE = 512
SAMPLES = 768
GATES = 22
TOUCH_SECONDS = 2.0


@dataclass
class Run:
    bib: int
    touches: int
    elapsed: torch.Tensor

    def total(self):
        return float(self.elapsed[:, -1].median()) + TOUCH_SECONDS * self.touches


@dataclass
class Heat:
    number: int
    results: list = field(default_factory=list)

    @property
    def complete(self):
        return len(self.results) >= HEAT_SIZE

    def order(self):
        return sorted((run.total(), run.bib) for run in self.results)


class Course:
    """The river between the start beam and the finish beam, as a field of water speed along and across the line."""

    def __init__(self, seed):
        gen = torch.Generator().manual_seed(seed)
        field_ = torch.randn(16, 1024, SAMPLES, generator=gen) * 0.2 + 1.4
        self.water = field_.to(DEVICE)
        self.gates = torch.linspace(20, SAMPLES - 20, GATES).long().to(DEVICE)
        upstream = torch.rand(GATES, generator=gen) < 0.3
        self.gate_cost = torch.where(upstream, 1.9, 0.6).to(DEVICE)
        self.spacing = 0.35

    def line(self, release):
        """Water speed on one racing line, for a given release level of the reservoir."""
        return self.water[release % self.water.shape[0], (release * 37) % 1024]


class Forecaster:
    def __init__(self, course, seed):
        self.course = course
        self.noise = torch.Generator(device=DEVICE).manual_seed(seed)

    @torch.no_grad()
    def run(self, strength, release):
        water = self.course.line(release)
        pace = torch.randn(ENSEMBLE, 1, generator=self.noise, device=DEVICE).mul_(0.05).add_(strength)
        step = self.course.spacing / (pace + water).clamp_(min=0.4)
        step[:, self.course.gates] += self.course.gate_cost * (2.0 - pace).clamp(min=0.2)
        return step.cumsum(dim=1)  # grows

    def splits(self, elapsed):
        return elapsed[:, self.course.gates].median(dim=0).values


class Meet:
    """Runs heats one after the other and publishes their order."""

    def __init__(self, forecaster, seed):
        self.forecaster = forecaster
        self.rng = random.Random(seed)
        self.heat = Heat(1)
        self.finished = []
        self.best = (float("inf"), 0)

    def start(self, bib):
        strength = 1.6 + 0.01 * (bib % 30)
        elapsed = self.forecaster.run(strength, self.rng.randrange(64))
        touches = sum(self.rng.random() < 0.06 for _ in range(GATES))
        run = Run(bib, touches, elapsed)
        self.heat.results.append(run)  # keeps
        return self.forecaster.splits(elapsed)

    def close_heat(self):
        order = self.heat.order()
        self.best = min(self.best, order[0])
        self.finished.append(self.heat)  # keeps
        self.heat = Heat(self.heat.number + 1)
        return order


def main():
    meet = Meet(Forecaster(Course(seed=5), seed=6), seed=7)
    began = time.monotonic()
    due = began
    bib = 0
    while time.monotonic() - began < SECONDS:
        bib += 1
        splits = meet.start(bib)
        if meet.heat.complete:
            order = meet.close_heat()
            podium = ", ".join(f"{b} in {t:.1f} s" for t, b in order[:3])
            half = float(splits[GATES // 2])
            print(f"heat {len(meet.finished)}: {podium}; last half split {half:.1f} s", flush=True)
        due += PERIOD
        time.sleep(max(0.0, due - time.monotonic()))
    total, winner = meet.best
    print(f"meet over: {bib} starts, {len(meet.finished)} heats, best {total:.1f} s by bib {winner}", flush=True)


if __name__ == "__main__":
    main()
