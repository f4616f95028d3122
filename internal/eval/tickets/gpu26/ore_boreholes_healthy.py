"""Where to drill next for nickel. A Gaussian process learns the grade of the ore from the boreholes so far; the next
hole goes where a field sampled from its posterior is richest. The oldest borehole leaves the data for each new one.
To see how the belief settles, the mean and the spread of the last two campaigns are compared and printed.

ticket: practice
class: none
"""

import os
import time
from collections import deque

import gpytorch
import torch

GRID, HOLES = 28, 64


class Grade(gpytorch.models.ExactGP):
    def __init__(self, places, grades, likelihood):
        super().__init__(places, grades, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=2.5))

    def forward(self, places):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(places), self.covar_module(places))


class Deposit:
    """The truth below the ground: a few lenses of ore."""

    def __init__(self, device):
        self.centres = torch.rand(5, 2, device=device)

    def assay(self, places):
        grades = torch.exp(-30 * torch.cdist(places, self.centres) ** 2).sum(dim=-1)
        return grades + 0.02 * torch.randn_like(grades)


class Survey:
    def __init__(self, deposit, device):
        line = torch.linspace(0, 1, GRID, device=device)
        self.grid = torch.cartesian_prod(line, line)
        self.deposit = deposit
        self.places = torch.rand(HOLES, 2, device=device)
        self.grades = deposit.assay(self.places)
        self.likelihood = gpytorch.likelihoods.GaussianLikelihood().to(device)
        self.model = Grade(self.places, self.grades, self.likelihood).to(device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.05)
        self.beliefs = deque(maxlen=2)

    def fit(self, rounds):
        self.model.train()
        self.likelihood.train()
        evidence = gpytorch.mlls.ExactMarginalLogLikelihood(self.likelihood, self.model)
        for _ in range(rounds):
            self.optimizer.zero_grad()
            loss = -evidence(self.model(self.places), self.grades)
            loss.backward()
            self.optimizer.step()
        return loss.item()

    def campaign(self):
        """Chooses a place, drills there and takes the assay into the data."""
        self.model.eval()
        self.likelihood.eval()
        with torch.no_grad(), gpytorch.settings.cholesky_jitter(1e-4):
            belief = self.model(self.grid)
            field = belief.rsample()
        self.beliefs.append(belief)
        place = self.grid[field.argmax()].unsqueeze(0)
        self.places = torch.cat([self.places, place])[-HOLES:]
        self.grades = torch.cat([self.grades, self.deposit.assay(place)])[-HOLES:]
        self.model.set_train_data(self.places, self.grades, strict=False)

    def change(self):
        """How far the mean moved since the campaign before, and the spread that is left."""
        last, now = self.beliefs
        return (now.mean - last.mean).abs().max().item(), now.stddev.mean().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    survey, campaigns = Survey(Deposit(device), device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        loss = survey.fit(rounds=3)
        survey.campaign()
        campaigns += 1
        if campaigns % 10 == 0:
            moved, spread = survey.change()
            print(f"{campaigns} holes: loss {loss:.3f}, mean moved {moved:.3f}, spread {spread:.3f}", flush=True)
        time.sleep(0.25)


if __name__ == "__main__":
    main()
