"""Map the methane that a bog gives off. On each visit 400 chambers are measured, a Gaussian process (gpytorch) is fitted
to them for some steps, and its mean over a fine grid is blended into the running chart, so that the chart follows
the season.

ticket: practice
class: none
"""

import math
import os
import random
import time

import gpytorch
import torch

torch.set_num_threads(1)
torch.manual_seed(8)
device = "cuda" if torch.cuda.is_available() else "cpu"

CHAMBERS, ACROSS, ALONG = 400, 50, 60
FIT_STEPS, BLEND = 3, 0.2

side, front = torch.linspace(0, 1, ACROSS), torch.linspace(0, 1, ALONG)
grid = torch.cartesian_prod(side, front).to(device)


class Surface(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def emission(places, day):
    """Milligrams an hour: pools give off more, and more in summer."""
    pools = torch.sin(7 * places[:, 0]) * torch.cos(5 * places[:, 1])
    return pools * (1 + 0.5 * math.sin(2 * math.pi * day / 365))


def visit(day):
    places = torch.rand(CHAMBERS, 2, device=device)
    return places, emission(places, day) + 0.1 * torch.randn(CHAMBERS, device=device)


places, measured = visit(0)
likelihood = gpytorch.likelihoods.GaussianLikelihood().to(device)
surface = Surface(places, measured, likelihood).to(device)
mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, surface)
optimizer = torch.optim.Adam(surface.parameters(), lr=0.05)


def fit(places, measured):
    surface.train()
    likelihood.train()
    surface.set_train_data(places, measured, strict=False)
    for _ in range(FIT_STEPS):
        optimizer.zero_grad()
        loss = -mll(surface(places), measured)
        loss.backward()
        optimizer.step()
    surface.eval()
    likelihood.eval()
    return loss.item()


chart = torch.zeros(len(grid), device=device)
summary = {"loss": 0.0, "error": 0.0}
end = time.time() + float(os.environ.get("SECONDS", "45"))
visits = 0
while time.time() < end:
    day = 3 * visits
    places, measured = visit(day)
    summary["loss"] = 0.9 * summary["loss"] + 0.1 * fit(places, measured)

    with torch.no_grad():
        chart = (1 - BLEND) * chart + BLEND * surface(grid).mean

    error = (chart - emission(grid, day)).abs().mean().item()
    summary["error"] = 0.9 * summary["error"] + 0.1 * error
    visits += 1
    if visits % 10 == 0:
        rows = chart.view(ACROSS, ALONG).mean(dim=1)[::10].tolist()
        print(f"day {day}: loss {summary['loss']:.3f}, error {summary['error']:.3f},",
              "rows", *(f"{row:+.2f}" for row in rows), flush=True)
    time.sleep(random.uniform(0.2, 0.4))

print("visits:", visits)
