"""Gauges in wells report the water table, and a quality check marks readings that cannot be right. For each window of
readings a Gaussian process is fitted for a few steps and asked about the hours that follow; readings far outside
its band are marked. The mean departure over all checks tells whether the band is honest.

ticket: practice
class: app-leak
holder: tally Tally departure
cause: uncut-autograd-graph results-kept
"""

import math
import os
import random
import time

import gpytorch
import torch

KNOWN, ASKED, FITS = 500, 250, 4


class WaterTable(gpytorch.models.ExactGP):
    def __init__(self, hours, levels, likelihood):
        super().__init__(hours, levels, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, hours):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(hours), self.covar_module(hours))


class Tally:
    """What the checks have found so far."""

    def __init__(self):
        self.checks = self.marked = 0
        self.departure = 0.0

    def add(self, marked, departure):
        self.checks += 1
        self.marked += marked
        self.departure = self.departure + departure  # keeps

    def __str__(self):
        return f"{self.checks} checks, {self.marked} marked, departure {float(self.departure) / self.checks:.3f}"


def readings(device):
    """A window of readings: tides, rain, and now and then a stuck gauge."""
    hours = torch.linspace(0, 6, KNOWN + ASKED, device=device)
    levels = torch.sin(2 * math.pi * hours * random.uniform(0.3, 0.6)) + 0.3 * torch.cos(5 * hours + random.random())
    levels = levels + 0.1 * torch.randn_like(levels)
    if random.random() < 0.2:
        levels[-60:] = levels[-60]
    return hours, levels


def fit(model, likelihood, optimizer, objective):
    model.train()
    likelihood.train()
    for _ in range(FITS):
        optimizer.zero_grad()
        loss = -objective(model(model.train_inputs[0]), model.train_targets)
        loss.backward()
        optimizer.step()


def check(model, likelihood, hours, levels):
    """How many readings lie outside the band, and the mean departure in its widths."""
    model.eval()
    likelihood.eval()
    band = likelihood(model(hours))  # grows
    departures = (levels - band.mean).abs() / band.stddev  # grows
    return int((departures > 4).sum()), departures.mean()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    hours, levels = readings(device)
    likelihood = gpytorch.likelihoods.GaussianLikelihood().to(device)
    model = WaterTable(hours[:KNOWN], levels[:KNOWN], likelihood).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    objective, tally = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model), Tally()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        hours, levels = readings(device)
        known = torch.randperm(KNOWN + ASKED, device=device)
        inside, asked = known[:KNOWN], known[KNOWN:]
        model.set_train_data(hours[inside], levels[inside], strict=False)
        fit(model, likelihood, optimizer, objective)
        tally.add(*check(model, likelihood, hours[asked], levels[asked]))
        if tally.checks % 10 == 0:
            print(tally, flush=True)
        time.sleep(random.uniform(0.2, 0.4))


if __name__ == "__main__":
    main()
