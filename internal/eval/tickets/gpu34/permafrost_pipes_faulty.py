"""A warm pipe lies in frozen ground, and the weather changes above it. The temperature of a cross-section is integrated
with implicit steps, whose length follows the estimated error, as the ground changes fast in some hours and hardly in
others. The matrix is constant, so its factor is kept for when the same step length comes again.

ticket: practice
class: app-leak
holder: factors Ground
cause: cache-without-bound
"""

import os
import random
import time

import torch

SIDE = 28
SHORTEST, LONGEST, TOLERANCE = 0.25, 8.0, 0.015


class Ground:
    def __init__(self, device):
        self.stiffness = self.laplacian().to(device)
        self.identity = torch.eye(SIDE * SIDE, device=device)
        self.temperature = torch.full((SIDE * SIDE,), -4.0, device=device)
        self.pipe = torch.zeros(SIDE, SIDE, device=device)
        self.pipe[15:18, 12:15] = 1
        self.surface = torch.zeros(SIDE, SIDE, device=device)
        self.surface[0] = 1
        self.factors = {}

    @staticmethod
    def laplacian():
        line = 2 * torch.eye(SIDE) - torch.diag(torch.ones(SIDE - 1), 1) - torch.diag(torch.ones(SIDE - 1), -1)
        line[0, 0] = line[-1, -1] = 1
        whole = torch.eye(SIDE)
        conductivity = 0.15
        return conductivity * (torch.kron(line, whole) + torch.kron(whole, line)) + 0.01 * torch.eye(SIDE * SIDE)

    def factor(self, hours):
        """The Cholesky factor of an implicit step of so many hours."""
        if hours not in self.factors:
            factor = torch.linalg.cholesky(self.identity + hours * self.stiffness)  # grows
            self.factors[hours] = factor  # keeps
        return self.factors[hours]

    def step(self, hours, air):
        """One step. Returns the estimate of its error."""
        source = (0.8 * self.pipe + 0.3 * air * self.surface).flatten() - 0.04
        start = self.temperature
        right = (start + hours * source)[:, None]
        self.temperature = torch.cholesky_solve(right, self.factor(hours))[:, 0]
        explicit = start + hours * (source - self.stiffness @ start)
        return 0.5 * (self.temperature - explicit).abs().mean().item() + 1e-6

    def thawed(self):
        return (self.temperature > 0).float().mean().item()


class Weather:
    def __init__(self):
        self.air = -6.0

    def after(self, hours):
        gusts = 4.0 if random.random() < 0.3 else 0.5
        self.air += 0.1 * hours * (-6.0 - self.air) + random.gauss(0, gusts)
        return self.air


def next_length(hours, error):
    """The step length that the error asks for."""
    wanted = hours * min(2.0, max(0.5, 0.9 * (TOLERANCE / error) ** 0.5))
    return min(LONGEST, max(SHORTEST, wanted))


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    ground, weather = Ground(device), Weather()
    hours, clock, steps = SHORTEST, 0.0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        error = ground.step(hours, weather.after(hours))
        clock += hours
        hours = next_length(hours, error)
        steps += 1
        if steps % 20 == 0:
            print(f"day {clock / 24:.1f}: {ground.thawed():.1%} thawed, next step {hours:.2f} h", flush=True)
        time.sleep(0.1)


if __name__ == "__main__":
    main()
