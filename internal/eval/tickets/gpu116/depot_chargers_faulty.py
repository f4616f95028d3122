"""Learns when to charge the electric buses that stand in a depot overnight.

Each bus reports its battery, its departure and a forecast of prices. A small value network picks one of a few
charging powers for every bus and learns from what it has seen lately, so that it follows the season.

ticket: practice
class: app-leak
holder: _steps
cause: buffer-without-bound
"""
import os
import time
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
BUSES = 512
HORIZON = 254
POWERS = (0.0, 0.25, 0.6, 1.0)
ROUNDS_PER_SECOND = 10


@dataclass
class Step:
    seen: torch.Tensor
    power: torch.Tensor
    reward: torch.Tensor
    then: torch.Tensor


class Yard:
    """The buses on their stands: state of charge, hours left, prices ahead."""

    def __init__(self, seed):
        self.rng = torch.Generator(device=DEVICE).manual_seed(seed)
        self.charge = torch.rand(BUSES, 1, generator=self.rng, device=DEVICE)
        self.left = torch.rand(BUSES, 1, generator=self.rng, device=DEVICE) * 8
        self.tick = 0

    def prices(self):
        hours = torch.arange(HORIZON, device=DEVICE) * 0.1 + self.tick * 0.1
        noise = torch.randn(BUSES, HORIZON, generator=self.rng, device=DEVICE)
        return 0.2 + 0.1 * torch.sin(hours * 0.26) + 0.01 * noise

    def look(self):
        return torch.cat([self.charge, self.left, self.prices()], dim=1)  # grows

    def act(self, seen, power):
        rate = torch.tensor(POWERS, device=DEVICE)[power].unsqueeze(1)
        self.charge = (self.charge + 0.05 * rate).clamp(max=1.0)
        self.left = self.left - 0.1
        late = self.left <= 0
        missing = torch.where(late, 1.0 - self.charge, torch.zeros_like(self.charge))
        reward = (-rate * seen[:, 2:3] - 4.0 * missing).squeeze(1)
        fresh = torch.rand(BUSES, 1, generator=self.rng, device=DEVICE)
        self.charge = torch.where(late, 0.5 * fresh, self.charge)
        self.left = torch.where(late, 4.0 + 4.0 * fresh, self.left)
        self.tick += 1
        return reward


class Replay:
    """The latest steps of the yard, from which learning draws."""

    def __init__(self, capacity, seed):
        self.capacity = capacity
        self.rng = torch.Generator().manual_seed(seed)
        self._steps = []
        self._first = 0

    def add(self, step):
        self._steps.append(step)  # keeps
        if len(self._steps) > self.capacity:
            self._first = len(self._steps) - self.capacity

    def draw(self):
        pick = torch.randint(self._first, len(self._steps), (1,), generator=self.rng)
        return self._steps[int(pick)]


class ChargePlanner:
    def __init__(self, replay):
        self.net = nn.Sequential(nn.Linear(HORIZON + 2, 96), nn.ReLU(), nn.Linear(96, len(POWERS))).to(DEVICE)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.replay = replay

    @torch.no_grad()
    def choose(self, seen, explore):
        best = self.net(seen).argmax(1)
        other = torch.randint(len(POWERS), best.shape, device=DEVICE)
        return torch.where(torch.rand(best.shape, device=DEVICE) < explore, other, best)

    def learn(self):
        step = self.replay.draw()
        with torch.no_grad():
            target = step.reward + 0.95 * self.net(step.then).max(1).values
        value = self.net(step.seen).gather(1, step.power.unsqueeze(1)).squeeze(1)
        loss = F.smooth_l1_loss(value, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(12)
    yard = Yard(seed=3)
    planner = ChargePlanner(Replay(capacity=30, seed=8))
    begun = time.monotonic()
    next_line = begun + 2.0
    seen = yard.look()
    rounds, loss, reward = 0, 0.0, torch.zeros(1)
    while time.monotonic() - begun < SECONDS:
        started = time.monotonic()
        power = planner.choose(seen, explore=0.1)
        reward = yard.act(seen, power)
        then = yard.look()
        planner.replay.add(Step(seen, power, reward, then))
        seen = then
        loss = planner.learn()
        rounds += 1
        if started >= next_line:
            print(f"round {rounds}: loss {loss:.4f}, reward {reward.mean():.3f}", flush=True)
            next_line += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - started)))
    print(f"depot opens after {rounds} rounds, last reward {reward.mean():.3f}", flush=True)


if __name__ == "__main__":
    main()
