"""A mountain railway crosses a curved viaduct of stone, with gauges for the strain in its arches.

A network learns the strain of all arches from the axle loads and the weather, with the trains as they come. Every
few seconds it is scored on trains put aside, and its weights are put on a board where the best ones are found, to
be averaged for the warning system at the end of the shift.

ticket: practice
class: none
"""

import os
import time
from dataclasses import dataclass

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
LOADS = 1024
ARCHES = 512
BATCH = 32
TRAINS_ASIDE = 256
STEPS_A_SECOND = 6
SCORE_EVERY = 5.0
BEST = 3


@dataclass
class Standing:
    score: float
    step: int
    weights: dict


class TrainSource:
    """Makes trains at random: the loads of their axles, and the strains they cause."""

    def __init__(self, seed):
        self._source = torch.Generator(device=DEVICE).manual_seed(seed)
        self._influence = self._draw(LOADS, ARCHES) / LOADS**0.5

    def _draw(self, *shape):
        return torch.randn(*shape, generator=self._source, device=DEVICE)

    def trains(self, count):
        loads = self._draw(count, LOADS)
        strains = torch.tanh(loads @ self._influence) + 0.05 * self._draw(count, ARCHES)
        return loads, strains


def make_network():
    return nn.Sequential(
        nn.Linear(LOADS, 1536),
        nn.GELU(),
        nn.Linear(1536, 3072),
        nn.GELU(),
        nn.Linear(3072, ARCHES),
    ).to(DEVICE)


class Board:
    """The weights with the best scores, best first."""

    def __init__(self):
        self._ranked = []

    def enter(self, score, step, network):
        weights = {name: value.detach().clone() for name, value in network.state_dict().items()}
        self._ranked.append(Standing(score, step, weights))
        self._ranked.sort(key=lambda standing: standing.score)
        del self._ranked[BEST:]
        return self._ranked[0]

    @property
    def best(self):
        return self._ranked[:BEST]

    def average(self):
        """The mean of the best weights."""
        first = self.best[0].weights
        return {name: sum(entry.weights[name] for entry in self.best) / len(self.best) for name in first}


class StrainTrainer:
    def __init__(self):
        self.source = TrainSource(seed=12)
        self.aside = self.source.trains(TRAINS_ASIDE)
        self.network = make_network()
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0.2, momentum=0.9)
        self.steps = 0

    def step(self):
        loads, strains = self.source.trains(BATCH)
        loss = nn.functional.mse_loss(self.network(loads), strains)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        return loss.item()

    @torch.no_grad()
    def score(self):
        self.network.eval()
        loads, strains = self.aside
        error = nn.functional.mse_loss(self.network(loads), strains)
        self.network.train()
        return error.item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(13)
    trainer = StrainTrainer()
    board = Board()
    start = time.monotonic()
    next_score = start
    while time.monotonic() - start < SECONDS:
        begun = time.monotonic()
        loss = trainer.step()
        if begun >= next_score:
            next_score += SCORE_EVERY
            leader = board.enter(trainer.score(), trainer.steps, trainer.network)
            print(
                f"step {trainer.steps}: loss {loss:.4f}, best score {leader.score:.4f} at step {leader.step}",
                flush=True,
            )
        time.sleep(max(0.01, 1.0 / STEPS_A_SECOND - (time.monotonic() - begun)))
    trainer.network.load_state_dict(board.average())
    print(f"shift over at step {trainer.steps}, score of the mean {trainer.score():.4f}", flush=True)


if __name__ == "__main__":
    main()
