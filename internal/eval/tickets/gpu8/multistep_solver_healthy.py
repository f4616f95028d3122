"""Pictures are drawn from noise with a solver of second order, which needs what the model said at the step before too.
What it said at the steps of an order is let go when the next begins.

ticket: practice
class: none
"""

import math
import os
import random
import time

import torch
from torch import nn


class Denoiser(nn.Module):
    """Says what the clean picture is, from a noisy one and the time."""

    def __init__(self, channels=4, width=24):
        super().__init__()
        self.into = nn.Conv2d(channels, width, 3, padding=1)
        self.time = nn.Linear(2, width)
        self.middle = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(2))
        self.out = nn.Conv2d(width, channels, 3, padding=1)

    def forward(self, noisy, now):
        when = self.time(torch.tensor([math.sin(now), math.cos(now)], device=noisy.device))
        hidden = self.into(noisy) + when[:, None, None]
        for layer in self.middle:
            hidden = hidden + nn.functional.silu(layer(hidden))
        return self.out(hidden)


class MultistepSolver:
    """Steps of first and second order along the way from noise to picture."""

    def __init__(self):
        self.times, self.outputs, self.place = [], [], 0

    def begin(self, steps):
        self.times = [1 - (i / steps) ** 1.5 * 0.999 for i in range(steps + 1)]
        self.outputs.clear()
        self.place = 0

    @staticmethod
    def scales(now):
        alpha = math.cos(now * math.pi / 2) + 1e-4
        sigma = math.sin(now * math.pi / 2) + 1e-4
        return alpha, sigma, math.log(alpha / sigma)

    def step(self, clean, sample):
        self.outputs.append(clean)
        _, sigma_from, rate_from = self.scales(self.times[self.place])
        alpha, sigma, rate = self.scales(self.times[self.place + 1])
        far = rate - rate_from
        guess = self.outputs[-1]
        if self.place:
            before = self.scales(self.times[self.place - 1])[2]
            ratio = (rate_from - before) / far
            guess = guess + (guess - self.outputs[-2]) / (2 * ratio)
        self.place += 1
        return sigma / sigma_from * sample - alpha * math.expm1(-far) * guess


@torch.inference_mode()
def draw(model, solver, amount, size, device):
    sample = torch.randn(amount, 4, size, size, device=device)
    solver.begin(random.choice((12, 16, 20)))
    for now in solver.times[:-1]:
        clean = model(sample, now).clamp(-3, 3)
        sample = solver.step(clean, sample)
        time.sleep(random.uniform(0.01, 0.03))
    return sample


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, solver, orders = Denoiser().to(device).eval(), MultistepSolver(), 0
    while time.time() < end:
        drawn = draw(model, solver, random.choice((2, 4, 6)), random.choice((48, 64, 64, 80)), device)
        orders += 1
        if orders % 5 == 0:
            print(orders, "orders drawn, spread", round(float(drawn.std()), 3), flush=True)
        time.sleep(random.expovariate(8))


if __name__ == "__main__":
    main()
