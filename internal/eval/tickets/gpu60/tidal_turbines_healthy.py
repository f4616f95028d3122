"""A walk-forward test of a forecast for a tidal turbine. The power is known for each quarter of an hour; for every day
a ridge regression on the last four days is fitted to all that was known until then, with older rows weighing less, and
it forecasts the day to come. At the end of the record, the test begins again with another ridge.

ticket: practice
class: none
"""

import itertools
import math
import os
import time

import torch

DAY, LAGS = 96, 384
FIRST, LAST = 100, 500
RIDGES = 1.0, 10.0, 100.0


def record(device):
    """The power of the turbine, with springs and neaps, weather and noise."""
    quarter = torch.arange(LAST * DAY + LAGS, device=device, dtype=torch.float32)
    tide = torch.sin(2 * math.pi * quarter / 49.7).abs()
    springs = 1 + 0.4 * torch.cos(2 * math.pi * quarter / (14.77 * DAY))
    weather = torch.randn(LAST + 5, device=device).repeat_interleave(DAY)[:len(quarter)]
    power = tide * springs * (1 + 0.1 * weather) + 0.05 * torch.randn_like(quarter)
    return (power - power.mean()) / power.std()


class Test:
    def __init__(self, power, ridge):
        self.power, self.ridge = power, ridge
        age = torch.arange(LAST * DAY, device=power.device).flip(0)
        self.weight = torch.exp(-age / (90.0 * DAY))
        self.rows = torch.empty(LAST * DAY, LAGS, device=power.device)
        self.weighted = torch.empty_like(self.rows)

    def fit(self, known):
        """The regression on each quarter that is known and has four days before it."""
        count = known - LAGS
        rows = self.rows[:count].copy_(self.power[:known - 1].unfold(0, LAGS, 1))
        weighted = torch.mul(rows, self.weight[-count:, None], out=self.weighted[:count])
        target = self.power[LAGS:known]
        gram = weighted.T @ rows
        gram.diagonal().add_(self.ridge)
        return torch.linalg.solve(gram, weighted.T @ target)

    def forecast(self, known, coefficients):
        """The next day, a quarter at a time, each put behind those before it."""
        recent = self.power[known - LAGS:known].clone()
        for _ in range(DAY):
            recent = torch.cat([recent[1:], (recent @ coefficients)[None]])
        return recent[-DAY:]

    def run(self):
        for day in range(FIRST, LAST):
            known = day * DAY + LAGS
            coefficients = self.fit(known)
            truth = self.power[known:known + DAY]
            yield day, (self.forecast(known, coefficients) - truth).square().mean().sqrt().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    power = record(device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for ridge in itertools.cycle(RIDGES):
        total, days = 0.0, 0
        for day, error in Test(power, ridge).run():
            total, days = total + error, days + 1
            if days % 5 == 0:
                print(f"ridge {ridge:g}, day {day}: mean error {total / days:.3f}", flush=True)
            time.sleep(0.14)
            if time.time() > end:
                return


if __name__ == "__main__":
    main()
