"""Snow outlook for a chain of mountain huts.

Wardens want to know hours ahead how deep the snow will lie around their huts. A grid of snow depth is driven
by wind and snowfall, and outlooks for later hours are drawn from it and verified when their hour has come.
Every eight seconds a large ensemble is run for three seconds to set the spread of the outlooks anew.

ticket: practice
class: app-leak
holder: outlooks
cause: results-kept
"""
import os
import time
from dataclasses import dataclass

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
GRID = 280
LEAD = 12
MEMBERS = 1000
ENSEMBLE_EVERY = 8 * ROUNDS_PER_SECOND
ENSEMBLE_ROUNDS = 3 * ROUNDS_PER_SECOND
HUTS = {"Steinkar": (40, 60), "Lochalm": (120, 200), "Gratsee": (210, 90), "Windeck": (250, 250)}


@dataclass
class Outlook:
    hour: int
    spread: float
    depth: torch.Tensor


class Snowfield:
    """Depth of snow over the range; wind carries it, the sky adds to it."""

    def __init__(self, seed):
        self._random = torch.Generator().manual_seed(seed)
        self.depth = torch.rand(GRID, GRID, generator=self._random).to(DEVICE)
        self.slope = torch.rand(GRID, GRID, generator=self._random).to(DEVICE)
        self.fall = 0.0

    def advance(self):
        self.fall = 0.04 * torch.rand(1, generator=self._random).item()
        carried = 0.1 * self.slope * self.depth
        self.depth = 0.98 * (self.depth - carried + carried.roll(1, dims=1)) + self.fall


class Ensemble:
    """Many members of the field, run for a short while to learn the spread."""

    def __init__(self, field):
        self.members = field.depth.expand(MEMBERS, GRID, GRID).contiguous()
        self.rounds = 0

    def advance(self):
        part = self.members[self.rounds * 32 % MEMBERS:][:32]
        part.mul_(1.0 + 0.05 * torch.randn(part.shape[0], 1, 1, device=DEVICE))
        self.rounds += 1
        return self.rounds >= ENSEMBLE_ROUNDS

    def spread(self):
        centre = self.members[:, GRID // 2, GRID // 2]
        return centre.std().item()


class HutService:
    """Draws outlooks, runs the ensemble when it is its turn, verifies what has come due."""

    def __init__(self, seed):
        self.field = Snowfield(seed)
        self.ensemble = None
        self.outlooks = []
        self.spread = 0.05
        self.hour = 0
        self.verified = 0
        self.error = 0.0

    def draw_outlook(self):
        drift = self.field.slope.roll(LEAD, dims=1) - self.field.slope
        depth = (self.field.depth + 0.02 * LEAD * drift).clamp(min=0.0)  # grows
        self.outlooks.append(Outlook(self.hour + LEAD, self.spread, depth))  # keeps

    def verify(self):
        due = [outlook for outlook in self.outlooks if outlook.hour == self.hour]
        for outlook in due:
            miss = (outlook.depth - self.field.depth).abs().mean().item()
            self.error += (miss - self.error) / min(self.verified + 1, 50)
            self.verified += 1

    def tend_ensemble(self):
        if self.ensemble is None:
            if self.hour % ENSEMBLE_EVERY == 0:
                self.ensemble = Ensemble(self.field)
        elif self.ensemble.advance():
            self.spread = self.ensemble.spread()
            self.ensemble = None

    def round(self):
        self.hour += 1
        self.field.advance()
        self.tend_ensemble()
        self.draw_outlook()
        self.verify()

    def bulletin(self):
        huts = ", ".join(f"{hut} {self.field.depth[spot].item():.2f} m" for hut, spot in HUTS.items())
        return f"hour {self.hour}: {huts}; spread {self.spread:.3f}, error {self.error:.3f}"


def main():
    torch.set_num_threads(1)
    torch.manual_seed(2)
    service = HutService(seed=14)
    end = time.monotonic() + SECONDS
    due = time.monotonic()
    while time.monotonic() < end:
        service.round()
        if service.hour % 30 == 0:
            print(service.bulletin(), flush=True)
        due += 1.0 / ROUNDS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"service ends: {service.verified} outlooks verified in {service.hour} hours", flush=True)


if __name__ == "__main__":
    main()
