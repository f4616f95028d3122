"""Forecast how the piles under a new building settle, from all readings so far.

Levels on the pile heads give readings around the clock: the place on the plan, the day, the load of the floors
above, and how far the head has sunk. After each round of readings the forecast is fitted afresh to everything
that has been read since the first pour: a ridge regression on a thousand random waves of place, day and load, with
older readings weighing a little less. The pile that will have sunk farthest in thirty days is printed.

ticket: practice
class: pool-growth
holder: -
cause: size-class-misses outgrown-blocks
"""
import math
import os
import time

import torch

WAVES = 1024
INPUTS = 4
PILES = 80
ROOM = 1 << 16
BEFORE = 3072
PER_ROUND = 26
RIDGE = 0.05


class Site:
    """Stands in for the levels: piles that sink with the load and the days, each in its own soil."""

    def __init__(self, device):
        self.device = device
        self.plan = torch.rand(PILES, 2, device=device)
        self.soil = 0.5 + torch.rand(PILES, device=device)
        self.day = 0.0

    def read(self, count):
        pile = torch.randint(0, PILES, (count,), device=self.device)
        days = self.day + torch.rand(count, device=self.device)
        load = 1.0 - torch.exp(-days / 90.0)
        sunk = self.soil[pile] * load * (1.0 + 0.2 * torch.sin(days / 14.0))
        sunk = sunk + 0.02 * torch.randn(count, device=self.device)
        self.day += 0.25
        return self.rows(pile, days, load), sunk

    def rows(self, pile, days, load):
        return torch.cat([self.plan[pile], days[:, None] / 60.0, load[:, None]], dim=1)

    def ahead(self, days):
        pile = torch.arange(PILES, device=self.device)
        when = torch.full((PILES,), self.day + days, device=self.device)
        return self.rows(pile, when, 1.0 - torch.exp(-when / 90.0))


class Forecast:
    def __init__(self, device):
        self.device = device
        self.inputs = torch.zeros(ROOM, INPUTS, device=device)
        self.sunk = torch.zeros(ROOM, device=device)
        self.count = 0
        self.turn = 2.5 * torch.randn(INPUTS, WAVES, device=device)
        self.shift = 2.0 * math.pi * torch.rand(WAVES, device=device)
        self.ridge = RIDGE * torch.eye(WAVES, device=device)
        self.weights = torch.zeros(WAVES, device=device)

    def add(self, inputs, sunk):
        end = self.count + inputs.shape[0]
        self.inputs[self.count:end] = inputs
        self.sunk[self.count:end] = sunk
        self.count = end

    def waves(self, inputs):
        return torch.addmm(self.shift, inputs, self.turn).cos_()

    def fit(self):
        inputs = self.inputs[:self.count]
        age = torch.arange(self.count, 0, -1, device=self.device) / 8000.0
        waves = self.waves(inputs)  # grows keeps
        weighted = waves * torch.exp(-age)[:, None]
        square = weighted.T @ waves / self.count
        right = weighted.T @ self.sunk[:self.count] / self.count
        factor = torch.linalg.cholesky(square + self.ridge)
        self.weights = torch.cholesky_solve(right[:, None], factor)[:, 0]

    def tell(self, inputs):
        return self.waves(inputs) @ self.weights


def main():
    until = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(6)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    site = Site(device)
    forecast = Forecast(device)
    while forecast.count < BEFORE:
        forecast.add(*site.read(PER_ROUND))
    rounds = 0
    while time.time() < until:
        forecast.add(*site.read(PER_ROUND))
        forecast.fit()
        told = forecast.tell(site.ahead(30.0))
        rounds += 1
        if rounds % 5 == 0:
            pile = int(told.argmax())
            print(f"day {site.day:.1f}, {forecast.count} readings: pile {pile} is told to sink to "
                  f"{told[pile].item():.2f} cm in thirty days", flush=True)
        time.sleep(0.1)


if __name__ == "__main__":
    main()
