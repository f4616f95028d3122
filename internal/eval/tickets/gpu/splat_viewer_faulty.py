"""A cloud of Gaussians is fitted to pictures, and made anew where it is too coarse. A viewer shows it,
and holds the cloud of every refinement.

ticket: openvdb/fvdb-core#189
class: app-leak
holder: views shown
cause: snapshots-kept cache-without-bound results-kept
"""

import argparse
import logging
import os
import random
import time

import torch
from torch import nn

log = logging.getLogger("splats")


class Splats(nn.Module):
    SHAPES = {"means": (3,), "scales": (3,), "quats": (4,), "opacities": (1,), "sh": (16, 3)}

    def __init__(self, values):
        super().__init__()
        for name, value in values.items():
            self.register_parameter(name, nn.Parameter(value))

    @classmethod
    def random(cls, count, device):
        return cls({n: torch.randn(count, *shape, device=device) * 0.5 for n, shape in cls.SHAPES.items()})

    def refined(self, target):
        """Splits what is bright and drops what cannot be seen, to about as many as wanted."""
        with torch.no_grad():
            order = self.opacities[:, 0].argsort(descending=True)
            keep = order[: int(target * random.uniform(0.80, 0.90))]
            split = keep[: int(target * random.uniform(0.10, 0.20))]
            values = {n: torch.cat([p[keep], p[split]]) for n, p in self.named_parameters()}  # grows
            values["means"][len(keep):] += 0.02 * torch.randn_like(values["means"][len(keep):])
        return Splats(values)

    def render(self, turn, size):
        spun = self.means @ turn
        color = torch.sigmoid(self.sh.mean(dim=1) + self.scales * 0.1 + self.quats[:, :3] * 0.01)
        weight = torch.sigmoid(self.opacities) * torch.exp(-spun[:, 2:].square())
        cells = ((torch.tanh(spun[:, :2]) * 0.5 + 0.5) * (size - 1)).long().detach()
        place = cells[:, 0] * size + cells[:, 1]
        image = torch.zeros(size * size, 3, device=color.device).index_add(0, place, color * weight)
        total = torch.zeros(size * size, 1, device=color.device).index_add(0, place, weight)
        return image / (total + 1e-3)


class Viewer:
    def __init__(self):
        self.views = {}

    def add_splats(self, name, splats):
        self.views[name] = splats

    def names(self):
        return list(self.views)


class Reconstruction:
    def __init__(self, options, device):
        self.options, self.device = options, device
        self.viewer, self.refinements = Viewer(), 0
        self.install(Splats.random(options.points, device))
        self.pictures = [(torch.linalg.qr(torch.randn(3, 3, device=device))[0],
                          torch.rand(options.size ** 2, 3, device=device)) for _ in range(12)]

    def install(self, splats):
        self.splats = splats
        self.optimizer = torch.optim.Adam(splats.parameters(), lr=0.01)
        self.viewer.add_splats(f"splats_{self.refinements}", splats)

    def step(self):
        turn, picture = random.choice(self.pictures)
        loss = (self.splats.render(turn, self.options.size) - picture).abs().mean()
        self.optimizer.zero_grad()
        loss.backward()  # grows
        self.optimizer.step()
        return loss.item()

    def refine(self):
        self.refinements += 1
        self.install(self.splats.refined(self.options.points))

    @torch.no_grad()
    def evaluate(self):
        errors = [(self.splats.render(t, self.options.size) - p).square().mean() for t, p in self.pictures]
        return torch.stack(errors).mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--points", type=int, default=50000)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--pause", type=float, default=0.03)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    fit = Reconstruction(options, "cuda" if torch.cuda.is_available() else "cpu")
    end, step = time.time() + float(os.environ.get("SECONDS", "40")), 0
    refine_at = 30
    while time.time() < end:
        loss, step = fit.step(), step + 1
        if step >= refine_at:
            fit.refine()
            refine_at = step + random.randint(20, 40)
        if step % 100 == 0:
            log.info("step %d: loss %.4f, error %.4f, viewer has %s", step, loss, fit.evaluate(), fit.viewer.names()[-1])
        time.sleep(options.pause)


if __name__ == "__main__":
    main()
