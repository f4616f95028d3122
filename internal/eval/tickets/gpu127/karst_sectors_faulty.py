"""Search planning for a party missing in a karst system.

Searchers report from the passages what they heard, smelled or saw: footprints, voices, a call without an
answer. Every report makes some parts of the cave more likely and others less. The planner weighs all reports
of the night against the passage map and names the sector that the next team should enter.

ticket: practice
class: pool-growth
holder: -
cause: outgrown-blocks
"""
import math
import os
import random
import time
from dataclasses import dataclass

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 4
ROUNDS_PER_PLAN = 4
PASSAGE_CELLS = 786_432
SECTORS = 96
EVENING_REPORTS = 14
MAP_LAYERS = 6


@dataclass(frozen=True)
class SearchReport:
    """One message from underground."""

    station: int
    strength: float
    heard: bool

    @property
    def weight(self) -> float:
        return self.strength if self.heard else -0.5 * self.strength


class PassageMap:
    """Cells of the surveyed passages with their walking times and draughts."""

    def __init__(self, seed: int):
        generator = torch.Generator().manual_seed(seed)
        self.layers = torch.rand(MAP_LAYERS, PASSAGE_CELLS, generator=generator).to(DEVICE)
        self.prior = torch.full((PASSAGE_CELLS,), 1.0 / PASSAGE_CELLS, device=DEVICE)

    def openness(self) -> torch.Tensor:
        return self.layers[0]

    def drift(self, hour: float) -> None:
        """The draught turns slowly with the temperature outside."""
        self.layers[1:].mul_(0.999).add_(0.001 * math.sin(hour))


class RadioLog:
    """Reports of the night in the order in which they came."""

    def __init__(self, seed: int):
        self._random = random.Random(seed)
        self.reports: list[SearchReport] = []
        for _ in range(EVENING_REPORTS):
            self.receive()

    def receive(self) -> SearchReport:
        report = SearchReport(
            station=self._random.randrange(400),
            strength=self._random.uniform(0.1, 1.5),
            heard=self._random.random() < 0.6,
        )
        self.reports.append(report)
        return report

    def weights(self) -> torch.Tensor:
        return torch.tensor([report.weight for report in self.reports], device=DEVICE)


class SearchPlanner:
    """Combines the reports with the map."""

    def __init__(self, passages: PassageMap, log: RadioLog):
        self.passages = passages
        self.log = log
        self.plans = 0

    def _evidence(self, weights: torch.Tensor) -> torch.Tensor:
        support = torch.outer(weights, self.passages.openness())  # grows
        support.neg_().sigmoid_()
        return support.sum(dim=0)

    def plan(self) -> tuple[int, float]:
        weights = self.log.weights()
        evidence = self._evidence(weights)
        evidence /= len(weights)
        posterior = self.passages.prior * evidence
        posterior /= posterior.sum()
        by_sector = posterior.view(SECTORS, -1).sum(dim=1)
        chance, sector = by_sector.max(dim=0)
        self.passages.prior.lerp_(posterior, 0.2)
        self.plans += 1
        return int(sector), chance.item()


def main() -> None:
    torch.set_num_threads(1)
    passages = PassageMap(seed=41)
    log = RadioLog(seed=42)
    planner = SearchPlanner(passages, log)
    started = time.monotonic()
    due = started
    next_report = started + 3.0
    rounds = 0
    sector, chance = 0, 0.0
    while time.monotonic() - started < SECONDS:
        passages.drift(hour=rounds / 40.0)
        if rounds % ROUNDS_PER_PLAN == 0:
            log.receive()
            sector, chance = planner.plan()
        rounds += 1
        if time.monotonic() >= next_report:
            print(f"plan {planner.plans}: next team to sector {sector} "
                  f"(chance {chance:.4f}, {len(log.reports)} reports)", flush=True)
            next_report += 3.0
        due += 1.0 / ROUNDS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"search handed over after {planner.plans} plans, last sector {sector}", flush=True)


if __name__ == "__main__":
    main()
