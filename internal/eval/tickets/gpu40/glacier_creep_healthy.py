"""Heat creeps down a column of glacier ice. The implicit solver chooses its own time step: it compares one step with
two half steps and halves or doubles the next one. It factorises the matrix of each step length once, as the same
length comes back often.

ticket: practice
class: none
"""

import math
import os
import random
import time

import torch

CELLS, TOLERANCE = 896, 2e-3
SHORTEST, LONGEST = 0.05, 1.6


class Stepper:
    def __init__(self, device):
        place = torch.linspace(0.0, 1.0, CELLS, device=device)
        # Radiation couples distant cells, so the operator is dense.
        exchange = torch.exp(-(place[:, None] - place[None, :]).abs() / 0.08)
        exchange = exchange / exchange.sum(dim=1).max()
        self.operator = torch.diag(exchange.sum(dim=1)) - exchange
        self.unit = torch.eye(CELLS, device=device)
        self.factors = {}

    def factor(self, length):
        if length not in self.factors:
            factor = torch.linalg.cholesky(self.unit + length * self.operator)
            self.factors[length] = factor
        return self.factors[length]

    def advance(self, heat, source, length):
        right = (heat + length * source)[:, None]
        return torch.cholesky_solve(right, self.factor(length))[:, 0]

    def try_step(self, heat, source, length):
        """The better of the two solutions, and how far they are apart."""
        once = self.advance(heat, source, length)
        half = self.advance(heat, source, 0.5 * length)
        twice = self.advance(half, source, 0.5 * length)
        return twice, (twice - once).abs().max().item()


class Weather:
    """The surface is warmed by the sun and, now and then, by rain."""

    def __init__(self, device):
        self.profile = torch.exp(-torch.arange(CELLS, device=device) / 15.0)
        self.rain = 0.0

    def source(self, hour):
        self.rain = 0.6 * self.rain + (random.uniform(0.2, 1.0) if random.random() < 0.25 else 0.0)
        sun = max(0.0, torch.sin(torch.tensor(0.26 * hour)).item())
        return (0.3 + sun + self.rain) * self.profile


def next_length(length, error):
    wanted = length * min(2.0, max(0.5, 0.9 * (TOLERANCE / max(error, 1e-9)) ** 0.5))
    return min(LONGEST, max(SHORTEST, 0.4 * 2.0 ** math.floor(math.log2(wanted / 0.4))))


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    stepper, weather = Stepper(device), Weather(device)
    heat, hour, length, steps = torch.full((CELLS,), -8.0, device=device), 0.0, 0.4, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        solution, error = stepper.try_step(heat, weather.source(hour), length)
        if error < 4.0 * TOLERANCE or length <= SHORTEST:
            heat, hour = solution - 0.02 * length * (solution + 8.0), hour + length
        length = next_length(length, error)
        steps += 1
        if steps % 10 == 0:
            print(f"hour {hour:.1f}: surface {heat[0].item():.2f}, step {length:.3f}", flush=True)
        time.sleep(random.uniform(0.08, 0.25))


if __name__ == "__main__":
    main()
