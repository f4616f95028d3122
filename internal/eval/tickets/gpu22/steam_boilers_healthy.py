"""The pressure of a steam boiler is forecast by a Gaussian process (gpytorch), which is set up and fitted anew whenever
some measurements have come in, to the last measurements: old ones say little of today. What was used for the last
fit is let go before the next one.

ticket: practice
class: none
"""

import gc
import os
import random
import time

import gpytorch
import torch

START, NEW, AHEAD, MOST = 1700, (12, 16, 20), 24, 1760


class Pressure(gpytorch.models.ExactGP):
    def __init__(self, times, pressures, likelihood):
        super().__init__(times, pressures, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, times):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(times), self.covar_module(times))


class Boiler:
    """Pressures that go up and down with the work of the day, measured with noise."""

    def __init__(self, device):
        self.device, self.now = device, 0
        self.times = torch.zeros(0, device=device)
        self.pressures = torch.zeros(0, device=device)

    def true(self, times):
        return torch.sin(times / 40) + 0.4 * torch.sin(times / 11)

    def measure(self, count):
        times = torch.arange(self.now, self.now + count, device=self.device).float()
        self.now += count
        pressures = self.true(times) + 0.15 * torch.randn(count, device=self.device)
        self.times = torch.cat([self.times, times])[-MOST:]
        self.pressures = torch.cat([self.pressures, pressures])[-MOST:]


def fit(boiler, steps=3):
    """A process fitted to what is known."""
    times = (boiler.times - boiler.times[-1]) / 50
    likelihood = gpytorch.likelihoods.GaussianLikelihood().to(boiler.device)
    model = Pressure(times, boiler.pressures, likelihood).to(boiler.device)
    model.train()
    likelihood.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    evidence = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = -evidence(model(times), boiler.pressures)
        loss.backward()
        optimizer.step()
    return model.eval(), likelihood.eval(), loss.item()


def forecast(boiler):
    model, likelihood, loss = fit(boiler)
    ahead = torch.arange(1, AHEAD + 1, device=boiler.device).float()
    with torch.no_grad():
        expected = likelihood(model(ahead / 50))
        error = (expected.mean - boiler.true(boiler.times[-1] + ahead)).abs().mean().item()
        return error, expected.stddev.mean().item(), loss


def main():
    torch.set_num_threads(1)
    boiler, rounds = Boiler("cuda" if torch.cuda.is_available() else "cpu"), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    boiler.measure(START)
    with gpytorch.settings.max_cholesky_size(10_000):
        while time.time() < end:
            error, unsure, loss = forecast(boiler)
            gc.collect()  # a fitted process refers to itself
            boiler.measure(random.choice(NEW))
            rounds += 1
            print("round", rounds, "measured", len(boiler.times), "error", round(error, 3), "unsure", round(unsure, 3),
                  "loss", round(loss, 3), flush=True)
            time.sleep(random.uniform(0.3, 0.9))


if __name__ == "__main__":
    main()
