"""Blown glass cools in a lehr, a long oven whose zones lower the heat step by step so that no stress stays in
it. A small network learns, from simulated pieces, the stress that a schedule of zone heats will leave along
the wall of a vessel. While it learns, the studio follows a smoothed stress profile of its own standing
schedules, to see whether the advice has settled.

ticket: practice
class: app-leak
holder: running_profile
cause: uncut-autograd-graph
"""
import os
import time

import torch
from torch import nn

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
ROUNDS_PER_SECOND = 6
ZONES = 24
WALL_POINTS = 64
WIDTH = 256
STANDING_SCHEDULES = 320
PIECES_IN_BATCH = 96


def wall_stress(schedules, thickness, expansion):
    """A plain physical model: stress follows the steps between zones and the thickness of the wall."""
    steps = schedules[:, :-1] - schedules[:, 1:]
    stress = torch.tanh(steps) @ expansion
    return stress * (0.6 + thickness)


class Pieces:
    """Draws cooling schedules and the walls of vessels at random."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.expansion = self._normal(ZONES - 1, WALL_POINTS) / 4.0
        self.archive = self._normal(4096, 2048)

    def _normal(self, *shape):
        return torch.randn(*shape, generator=self.generator, device=DEVICE)

    def schedules(self, count):
        falls = self._normal(count, ZONES).abs() * 0.1
        furnace = 1.0 + 0.01 * self.archive[:count, :1]
        return furnace - falls.cumsum(dim=1)

    def batch(self, count):
        schedules = self.schedules(count)
        thickness = torch.rand(count, 1, generator=self.generator, device=DEVICE)
        target = wall_stress(schedules, thickness, self.expansion)
        return torch.cat([schedules, thickness], dim=1), target


class SettledProfile:
    """A smoothed stress profile of the studio's standing schedules."""

    def __init__(self, schedules, decay=0.92):
        self.schedules = schedules
        self.decay = decay
        self.running_profile = torch.zeros(schedules.shape[0], WALL_POINTS, device=DEVICE)
        self.shift = 0.0

    def follow(self, model):
        profile = model(self.schedules)  # grows
        settled = self.decay * self.running_profile + (1.0 - self.decay) * profile
        self.shift = (settled - self.running_profile).abs().mean().item()
        self.running_profile = settled  # keeps

    def worst_point(self):
        mean = self.running_profile.abs().mean(dim=0)
        point = int(mean.argmax())
        return point, mean[point].item()


class LehrStudy:
    def __init__(self, seed=31):
        torch.manual_seed(seed)
        self.pieces = Pieces(seed)
        self.model = nn.Sequential(
            nn.Linear(ZONES + 1, WIDTH), nn.Tanh(),
            nn.Linear(WIDTH, WIDTH), nn.Tanh(),
            nn.Linear(WIDTH, WIDTH), nn.Tanh(),
            nn.Linear(WIDTH, WALL_POINTS),
        ).to(DEVICE)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        standing, _ = self.pieces.batch(STANDING_SCHEDULES)
        self.settled = SettledProfile(standing)
        self.rounds = 0
        self.loss = 0.0

    def learn(self):
        inputs, target = self.pieces.batch(PIECES_IN_BATCH)
        loss = nn.functional.smooth_l1_loss(self.model(inputs), target)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self.loss = loss.item()
        self.settled.follow(self.model)
        self.rounds += 1

    def describe(self):
        point, stress = self.settled.worst_point()
        return f"loss {self.loss:.4f}  shift {self.settled.shift:.5f}  worst wall point {point:2d} at {stress:.3f}"


def main():
    study = LehrStudy()
    started = spoken = time.monotonic()
    while time.monotonic() - started < SECONDS:
        begun = time.monotonic()
        study.learn()
        if begun - spoken >= 2.5:
            spoken = begun
            print(f"{begun - started:5.1f} s  round {study.rounds:4d}  {study.describe()}", flush=True)
        time.sleep(max(0.005, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - begun)))
    print(f"study ends after {study.rounds} rounds: {study.describe()}", flush=True)


if __name__ == "__main__":
    main()
