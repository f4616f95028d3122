"""Fits a photograph of a coral reef with soft blobs, in the manner of Gaussian splatting in two dimensions. Each blob
has a place, a width, an opacity and some features that a small head turns into a colour. Now and then the faintest
blobs give way to copies of the most opaque, and the optimizer goes on with the moments of those that remain.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn

BLOBS, FEATURES, PIXELS, EVERY = 16_000, 32, 256, 8
RATES = {"place": 1e-3, "width": 5e-3, "opacity": 2e-2, "features": 1e-2}


def photograph(points):
    """The colour of the reef at some points, which lie between 0 and 1."""
    x, y = points[:, :1], points[:, 1:]
    waves = torch.cat([torch.sin(9 * x + 4 * y), torch.cos(14 * x * y), torch.sin(6 * y - 2 * x)], dim=1)
    return 0.5 + 0.4 * waves


class Reef:
    def __init__(self, device):
        self.device = device
        self.blobs = {
            "place": nn.Parameter(torch.rand(BLOBS, 2, device=device)),
            "width": nn.Parameter(torch.full((BLOBS, 1), -3.5, device=device)),
            "opacity": nn.Parameter(0.5 * torch.randn(BLOBS, 1, device=device)),
            "features": nn.Parameter(0.1 * torch.randn(BLOBS, FEATURES, device=device)),
        }
        groups = [{"params": [blob], "lr": RATES[name], "name": name} for name, blob in self.blobs.items()]
        self.optimizer = torch.optim.Adam(groups)
        self.head = nn.Linear(FEATURES, 3).to(device).requires_grad_(False)

    def render(self, points):
        blobs = self.blobs
        distances = torch.cdist(points, blobs["place"]) / blobs["width"].exp().T
        weights = torch.exp(-0.5 * distances.square()) * blobs["opacity"].sigmoid().T
        mixed = weights @ blobs["features"] / (weights.sum(dim=1, keepdim=True) + 1e-4)
        return self.head(mixed).sigmoid()

    def step(self):
        points = torch.rand(PIXELS, 2, device=self.device)
        loss = (self.render(points) - photograph(points)).abs().mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.item()

    @torch.no_grad()
    def refine(self, share=0.05):
        """Put copies of the most opaque blobs in the place of the faintest."""
        order, count = self.blobs["opacity"].squeeze(1).argsort(), int(share * BLOBS)
        chosen = torch.cat([order[count:], order[-count:]])
        for group in self.optimizer.param_groups:
            old = group["params"][0]
            state = self.optimizer.state.pop(old)
            new = nn.Parameter(old[chosen])
            self.optimizer.state[new] = {
                "step": state["step"],
                "exp_avg": state["exp_avg"][chosen],
                "exp_avg_sq": state["exp_avg_sq"][chosen],
            }
            group["params"][0] = new
            self.blobs[group["name"]] = new


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    reef, steps, refined = Reef(device), 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        loss = reef.step()
        steps += 1
        if steps % EVERY == 0:
            reef.refine()
            refined += 1
        if steps % 30 == 0:
            print(f"step {steps}, refined {refined} times: error {loss:.4f}", flush=True)
        time.sleep(random.uniform(0.03, 0.09))


if __name__ == "__main__":
    main()
