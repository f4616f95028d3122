"""Which heat, draught, time and layer dry saffron best? Bayesian optimisation over a Gaussian process: in each round
it is fitted to the latest trials, asked about new settings, and a pair of promising, unlike ones is tried. The report
says how far its belief moved in the round.

ticket: practice
class: app-leak
holder: beliefs Optimizer optimizer
cause: results-kept buffer-without-bound
"""

import os
import time

import gpytorch
import torch

SETTINGS, LATEST, CANDIDATES = 4, 160, 500


def dry(settings):
    """The colouring strength of what comes out of the dryer."""
    best = torch.tensor([0.6, 0.3, 0.7, 0.2], dtype=settings.dtype, device=settings.device)
    strength = torch.exp(-3 * (settings - best).square().sum(-1)) + 0.1 * torch.sin(9 * settings[..., 0])
    return strength + 0.05 * torch.randn_like(strength)


class Dryer(gpytorch.models.ExactGP):
    def __init__(self, settings, strengths, likelihood):
        super().__init__(settings, strengths, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(2.5, ard_num_dims=SETTINGS))

    def forward(self, settings):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(settings), self.covar_module(settings))


class Optimizer:
    def __init__(self, device):
        self.settings = torch.rand(LATEST, SETTINGS, dtype=torch.float64, device=device)
        self.strengths = dry(self.settings)
        self.candidates = torch.rand(CANDIDATES, SETTINGS, dtype=torch.float64, device=device)
        self.likelihood = gpytorch.likelihoods.GaussianLikelihood()
        self.model = Dryer(self.settings, self.strengths, self.likelihood).to(device).double()
        self.evidence = gpytorch.mlls.ExactMarginalLogLikelihood(self.likelihood, self.model)
        self.steps = torch.optim.Adam(self.model.parameters(), 0.02)
        self.beliefs = []

    def fit(self):
        self.model.set_train_data(self.settings, self.strengths, strict=False)
        self.model.train()
        for _ in range(3):
            self.steps.zero_grad()
            loss = -self.evidence(self.model(self.settings), self.strengths)
            loss.backward()
            self.steps.step()
        self.model.eval()

    @torch.no_grad()
    def choose(self):
        belief = self.model(self.candidates)  # grows
        covariance = belief.covariance_matrix
        bound = belief.mean + 2 * covariance.diagonal().clamp_min(0).sqrt()
        first = bound.argmax()
        likeness = covariance[first].abs() / covariance[first, first].clamp_min(1e-9)
        second = (bound - likeness).argmax()
        self.beliefs.append(belief)  # keeps
        return torch.stack([self.candidates[first], self.candidates[second]])

    def moved(self):
        if len(self.beliefs) < 2:
            return 0.0
        return (self.beliefs[-1].mean - self.beliefs[-2].mean).abs().max().item()

    def step(self):
        self.fit()
        chosen = self.choose()
        self.settings = torch.cat([self.settings, chosen])[-LATEST:]
        self.strengths = torch.cat([self.strengths, dry(chosen)])[-LATEST:]


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    optimizer, rounds = Optimizer(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        optimizer.step()
        rounds += 1
        if rounds % 10 == 0:
            print(f"round {rounds}: best {optimizer.strengths.max().item():.3f}, "
                  f"belief moved by {optimizer.moved():.3f}", flush=True)
        time.sleep(0.2)


if __name__ == "__main__":
    main()
