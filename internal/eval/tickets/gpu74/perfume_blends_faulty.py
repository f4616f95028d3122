"""How near is a new perfume to the house's accords? A blend is a cloud of drops in odour space, and the Sinkhorn
divergence to each accord is its distance. The kernels are cached, so that the one of an accord with itself and the one
of a blend with itself are computed only once.

ticket: practice
class: app-leak
holder: gibbs_kernel cache
cause: cache-without-bound results-kept
"""

import os
import random
import time
from functools import lru_cache

import torch

DROPS, ODOURS = 640, 6
BLUR, ROUNDS = 0.5, 25
ACCORDS = "fougere", "chypre", "oriental"


@lru_cache(maxsize=None)
def gibbs_kernel(first, second):
    """The kernel exp(-cost / blur) of two clouds of drops."""
    return torch.exp(-torch.cdist(first, second).square() / (2 * BLUR))  # grows keeps


def transport(first, second):
    """The entropic cost of carrying the first cloud onto the second."""
    kernel = gibbs_kernel(first, second)
    left = torch.full((DROPS,), 1 / DROPS, device=kernel.device)
    right = left.clone()
    for _ in range(ROUNDS):
        left = (1 / DROPS) / (kernel @ right).clamp_min(1e-20)
        right = (1 / DROPS) / (kernel.T @ left).clamp_min(1e-20)
    return BLUR * (left.log().mean() + right.log().mean())


def divergence(first, second):
    """The Sinkhorn divergence: it is zero for a cloud and itself."""
    own = transport(first, first) + transport(second, second)
    return (transport(first, second) - own / 2).item()


def cloud(centre, width):
    return centre + width * torch.randn(DROPS, ODOURS, device=centre.device)  # grows


class Nose:
    """The accords of the house, and which of them the blends of the day were nearest to."""

    def __init__(self, device):
        self.centres = {name: torch.randn(ODOURS, device=device) for name in ACCORDS}
        self.clouds = {name: cloud(centre, 0.6) for name, centre in self.centres.items()}
        self.nearest = dict.fromkeys(ACCORDS, 0)
        self.total, self.count = 0.0, 0

    def mix(self):
        """A new blend: something between two of the accords."""
        one, other = random.sample(ACCORDS, 2)
        share = random.random()
        centre = share * self.centres[one] + (1 - share) * self.centres[other]
        return cloud(centre, random.uniform(0.5, 0.8))

    def judge(self, blend):
        distances = {name: divergence(blend, drops) for name, drops in self.clouds.items()}
        best = min(distances, key=distances.get)
        self.nearest[best] += 1
        self.total += distances[best]
        self.count += 1


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    nose = Nose(device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        nose.judge(nose.mix())
        if nose.count % 10 == 0:
            shares = ", ".join(f"{name} {count}" for name, count in nose.nearest.items())
            print(f"{nose.count} blends: {shares}; mean distance {nose.total / nose.count:.3f}", flush=True)
        time.sleep(random.uniform(0.15, 0.3))


if __name__ == "__main__":
    main()
