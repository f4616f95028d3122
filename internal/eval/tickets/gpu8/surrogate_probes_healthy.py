"""The best settings of a machine are sought with a Gaussian process as its stand-in. A draw from it fails where its
covariance can't be factorised; what has failed is listed with the words of its error, and
another scale is tried.

ticket: practice
class: none
"""

import collections
import os
import random
import time
import warnings

import gpytorch
import torch
from linear_operator.utils.cholesky import psd_safe_cholesky
from linear_operator.utils.errors import NotPSDError

Failure = collections.namedtuple("Failure", "scale rounds error")
warnings.filterwarnings("ignore", message="A not p.d.")


def machine(settings):
    """What is measured, with noise."""
    good = -((settings - 0.3) ** 2).sum(1) + 0.2 * torch.cos(9 * settings).prod(1)
    return good + 0.01 * torch.randn_like(good)


class StandIn:
    """A Gaussian process through what has been measured."""

    def __init__(self, device, dimensions=3):
        self.device, self.dimensions = device, dimensions
        self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel()).to(device).requires_grad_(False)
        self.settings = torch.rand(40, dimensions, device=device)
        self.values = machine(self.settings)

    def draw(self, scale, count=480):
        """One draw of the function at some places, conditioned on what is known."""
        self.kernel.base_kernel.lengthscale = scale
        places = torch.rand(count, self.dimensions, device=self.device)
        noise = 1e-3 * torch.eye(len(self.settings), device=self.device)
        known = psd_safe_cholesky(self.kernel(self.settings).to_dense() + noise)
        across = self.kernel(self.settings, places).to_dense()
        mean = across.T @ torch.cholesky_solve(self.values[:, None], known)
        rest = torch.linalg.solve_triangular(known, across, upper=False)
        covariance = self.kernel(places).to_dense() - rest.T @ rest
        root = psd_safe_cholesky(covariance, jitter=3e-6, max_tries=1)
        return places, mean.squeeze(1) + root @ torch.randn(count, device=self.device)

    def measure(self, setting):
        self.settings = torch.cat([self.settings, setting[None]])[-120:]
        self.values = torch.cat([self.values, machine(setting[None])])[-120:]


class Search:
    def __init__(self, device):
        self.stand_in, self.skipped, self.rounds, self.failed = StandIn(device), [], 0, 0

    def probe(self):
        scale = random.choice((0.05, 0.1, 0.2, 0.6, 1.5))
        self.rounds += 1
        try:
            places, drawn = self.stand_in.draw(scale)
        except NotPSDError as error:
            self.failed += 1
            del self.skipped[:-500]
            self.skipped.append(Failure(scale, self.rounds, str(error)[:80]))
            return
        self.stand_in.measure(places[drawn.argmax()])


def main():
    torch.set_num_threads(1)
    torch.manual_seed(3)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    search = Search("cuda" if torch.cuda.is_available() else "cpu")
    while time.time() < end:
        search.probe()
        if search.rounds % 50 == 0:
            best = round(float(search.stand_in.values.max()), 3)
            last = search.skipped[-1].scale if search.skipped else None
            print(search.rounds, "rounds", search.failed, "failed, last at", last, "best", best, flush=True)
            time.sleep(random.uniform(0, 0.4))
        time.sleep(random.uniform(0.05, 0.16))


if __name__ == "__main__":
    main()
