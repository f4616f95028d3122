"""Gaussian processes are fitted to a rolling window of a series. The forecast of each window is kept for a score at
the end as the distribution that the model gave, with its covariance and the graph that it comes from.

ticket: cornellius-gp/gpytorch#1451
class: app-leak
holder: forecasts
cause: uncut-autograd-graph results-kept
"""

import math
import os
import random
import time
import warnings

import gpytorch
import torch

warnings.filterwarnings("ignore")


class WindowModel(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=2.5))

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def fit(x, y, steps):
    likelihood = gpytorch.likelihoods.GaussianLikelihood().to(x.device)
    model = WindowModel(x, y, likelihood).to(x.device)
    model.train(), likelihood.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = -objective(model(x), y)
        loss.backward()
        optimizer.step()
        time.sleep(0.02)
    model.eval(), likelihood.eval()
    return model, likelihood


class Backtest:
    def __init__(self, device, window=300, ahead=240):
        self.device, self.window, self.ahead = device, window, ahead
        self.forecasts, self.position = [], 0
        t = torch.arange(200000, device=device) / 20
        self.series = torch.sin(t) + 0.4 * torch.sin(2.7 * t + 1) + 0.1 * torch.randn_like(t)

    def step(self):
        start = self.position
        x = torch.arange(self.window + self.ahead, device=self.device) / 20
        y = self.series[start:start + self.window + self.ahead]
        known, unknown = x[:self.window], x[self.window:]
        model, likelihood = fit(known, y[:self.window], random.randint(6, 12))
        forecast = likelihood(model(unknown))  # grows
        self.forecasts.append((y[self.window:], forecast))  # keeps
        self.position += 30
        return (forecast.mean - y[self.window:]).square().mean().item()

    def score(self):
        errors = []
        for wanted, forecast in self.forecasts[-5:]:
            errors.append(-forecast.log_prob(wanted).item() / len(wanted))
        return sum(errors) / max(1, len(errors))


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    backtest, last = Backtest("cuda" if torch.cuda.is_available() else "cpu"), math.nan
    while time.time() < end:
        last = backtest.step()
        if len(backtest.forecasts) % 20 == 0:
            print(len(backtest.forecasts), "windows, score", round(backtest.score(), 3), round(last, 3), flush=True)


if __name__ == "__main__":
    main()
