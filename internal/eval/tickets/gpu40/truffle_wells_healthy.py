"""Where in the wood should the dog look for truffles next? A Gaussian process learns from the last holes that were dug,
and the next hole is where its upper confidence bound is highest. The mean of these bounds tells how much the search
still promises; it is printed with the best find.

ticket: practice
class: none
"""

import math
import os
import random
import time

import gpytorch
import torch

HOLES, CANDIDATES, REFITS = 256, 1024, 3


class Wood(gpytorch.models.ExactGP):
    def __init__(self, places, finds, likelihood):
        super().__init__(places, finds, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=2.5))

    def forward(self, places):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(places), self.covar_module(places))


def dig(places):
    """How many truffles there are (in some unit), as far as one can count them."""
    east, north = places[:, 0], places[:, 1]
    truffles = torch.sin(9.0 * east) * torch.cos(7.0 * north) + torch.exp(-20.0 * (east - north) ** 2)
    return truffles + 0.1 * torch.randn_like(truffles)


class Forager:
    def __init__(self, device):
        self.device = device
        self.places = torch.rand(HOLES, 2, device=device)
        self.finds = dig(self.places)
        self.likelihood = gpytorch.likelihoods.GaussianLikelihood().to(device)
        self.wood = Wood(self.places, self.finds, self.likelihood).to(device)
        self.mll = gpytorch.mlls.ExactMarginalLogLikelihood(self.likelihood, self.wood)
        self.optimizer = torch.optim.Adam(self.wood.parameters(), lr=0.02)
        self.promise, self.rounds, self.best = 0.0, 0, -math.inf

    def refit(self):
        self.wood.train()
        self.likelihood.train()
        for _ in range(REFITS):
            self.optimizer.zero_grad()
            loss = -self.mll(self.wood(self.places), self.finds)
            loss.backward()
            self.optimizer.step()

    def choose(self):
        """The candidate with the highest bound."""
        self.wood.eval()
        candidates = torch.rand(CANDIDATES, 2, device=self.device)
        guess = self.wood(candidates)
        bounds = guess.mean + 2.0 * guess.stddev
        self.promise += bounds.max().item()
        self.rounds += 1
        return candidates[bounds.argmax()][None]

    def learn(self, place):
        find = dig(place)
        self.best = max(self.best, find.item())
        self.places = torch.cat((self.places, place))[-HOLES:]
        self.finds = torch.cat((self.finds, find))[-HOLES:]
        self.wood.set_train_data(self.places, self.finds, strict=False)


def main():
    torch.set_num_threads(1)
    forager = Forager("cuda" if torch.cuda.is_available() else "cpu")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        forager.refit()
        forager.learn(forager.choose())
        if forager.rounds % 10 == 0:
            promise = float(forager.promise) / forager.rounds
            print(f"{forager.rounds} holes: best find {forager.best:.2f}, promise {promise:.3f}", flush=True)
        time.sleep(random.uniform(0.15, 0.4))


if __name__ == "__main__":
    main()
