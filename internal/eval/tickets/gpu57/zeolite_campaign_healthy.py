"""A robot looks for the best recipe of a zeolite. A Gaussian process over temperature, time and the ratio of silicon to
aluminium is drawn from once a round (Thompson sampling), the robot makes what the draw likes best, and the process
learns from the newest hundred yields. The campaign is noted round by round, for a summary of how well the yields were
foreseen.

ticket: practice
class: none
"""

import os
import time
from dataclasses import dataclass

import gpytorch
import torch

MEMORY, CANDIDATES, REFIT = 100, 500, 12


class Surrogate(gpytorch.models.ExactGP):
    def __init__(self, recipes, yields, likelihood):
        super().__init__(recipes, yields, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=2.5))

    def forward(self, recipes):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(recipes), self.covar_module(recipes))


@dataclass
class Round:
    choice: int
    expected: float
    measured: float

    def error(self):
        return abs(self.expected - self.measured)


class Campaign:
    def __init__(self):
        self.rounds = []

    def note(self, choice, forecast, measured):
        self.rounds.append(Round(choice, forecast.mean[choice].item(), measured))

    def __str__(self):
        best = max(each.measured for each in self.rounds)
        errors = [each.error() for each in self.rounds[-20:]]
        return f"round {len(self.rounds)}: best {best:.3f}, error of the forecasts {sum(errors) / len(errors):.3f}"


def robot(recipes):
    """The yield of each recipe, as the oven gives it."""
    optimum = torch.tensor([0.6, 0.3, 0.7], dtype=recipes.dtype, device=recipes.device)
    peak = torch.exp(-6 * (recipes - optimum).square().sum(-1))
    return peak + 0.2 * torch.sin(9 * recipes[..., 0]) * recipes[..., 1] + 0.05 * torch.randn_like(peak)


def learn(model, likelihood):
    """Fits the kernel and the noise to the yields so far."""
    model.train(), likelihood.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    marginal = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    for _ in range(10):
        optimizer.zero_grad()
        loss = -marginal(model(*model.train_inputs), model.train_targets)
        loss.backward()
        optimizer.step()


@torch.no_grad()
def choose(model, likelihood, candidates):
    """The candidate that a draw from the process likes best, and the forecast of all yields."""
    model.eval(), likelihood.eval()
    forecast = likelihood(model(candidates))
    draw = forecast.sample()
    return draw.argmax().item(), forecast


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    recipes = torch.rand(MEMORY, 3, dtype=torch.float64, device=device)
    yields = robot(recipes)
    likelihood = gpytorch.likelihoods.GaussianLikelihood().to(device).double()
    model = Surrogate(recipes, yields, likelihood).to(device).double()
    campaign, count = Campaign(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        if count % REFIT == 0:
            learn(model, likelihood)
        candidates = torch.rand(CANDIDATES, 3, dtype=torch.float64, device=device)
        choice, forecast = choose(model, likelihood, candidates)
        measured = robot(candidates[choice])
        campaign.note(choice, forecast, measured.item())
        recipes = torch.cat([recipes[1:], candidates[choice][None]])
        yields = torch.cat([yields[1:], measured[None]])
        model.set_train_data(recipes, yields, strict=False)
        count += 1
        if count % 10 == 0:
            print(campaign, flush=True)
        time.sleep(0.25)


if __name__ == "__main__":
    main()
