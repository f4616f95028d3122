"""Where to put the turbines of a wind farm? From many chance layouts the turbines are shifted to where more power is
had. How far a step may go is told by the curvature along the slope and across it, which is the slope of the slope; so
the way back from the power to the places has itself to be gone back.

ticket: pytorch/pytorch#4661
class: none
"""

import math
import os
import random
import time

import torch

TURBINES, WINDS, EXTENT, STEPS = 36, 6, 4000.0, 12


class Site:
    """The sea, with the winds that blow there, and how often."""

    def __init__(self, device):
        angles = torch.arange(WINDS, device=device) * (2 * math.pi / WINDS)
        self.along = torch.stack([angles.cos(), angles.sin()], -1)
        self.often = torch.softmax(torch.randn(WINDS, device=device), 0)
        self.device = device

    def power(self, places):
        """What the turbines make; in the wake of others they make less."""
        apart = places[:, None] - places[None]
        behind = (apart[None] * self.along[:, None, None]).sum(-1)
        aside = apart[None, ..., 0] * self.along[:, None, None, 1] - apart[None, ..., 1] * self.along[:, None, None, 0]
        wide = 80 + 0.06 * behind.abs()
        lost = torch.sigmoid(behind / 60 - 3) * (80 / wide) ** 2 * torch.exp(-((aside / wide) ** 2))
        speed = 1 - (lost ** 2).sum(2).clamp(min=1e-9).sqrt().clamp(max=0.9)
        return (self.often[:, None] * speed ** 3).sum()

    def outside(self, places):
        return (torch.relu(-places) + torch.relu(places - EXTENT)).sum() / 100


def improve(site, places):
    """A step along the slope, the shorter the more it bends."""
    places = places.detach().requires_grad_()
    loss = site.outside(places) - site.power(places)
    slope, = torch.autograd.grad(loss, places, create_graph=True)
    along = slope.detach() / slope.detach().norm().clamp(min=1e-12)
    across = torch.stack([-along[:, 1], along[:, 0]], -1)
    bends = []
    for way in (along, across):
        bend, = torch.autograd.grad((slope * way).sum(), places, retain_graph=True)
        bends.append((bend * way).sum().abs().item())
    step = min(float(slope.detach().norm()) / max(*bends, 1e-9), 120.0)
    with torch.no_grad():
        return places - step * along, -loss.item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(11)
    site = Site("cuda" if torch.cuda.is_available() else "cpu")
    end, best, layouts = time.time() + float(os.environ.get("SECONDS", "45")), 0.0, 0
    while time.time() < end:
        places = torch.rand(TURBINES, 2, device=site.device) * EXTENT
        first = last = None
        for _ in range(random.randint(STEPS // 2, STEPS)):
            places, last = improve(site, places)
            first = last if first is None else first
            time.sleep(random.uniform(0.05, 0.15))
        layouts, best = layouts + 1, max(best, last)
        print("layout", layouts, "from", round(first, 2), "to", round(last, 2), "best", round(best, 2), flush=True)
        time.sleep(random.uniform(0.0, 0.1))


if __name__ == "__main__":
    main()
