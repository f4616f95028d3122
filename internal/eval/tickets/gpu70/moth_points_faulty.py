"""A moth is rebuilt from its pictures as a cloud of coloured points, which are splatted onto the picture from each
side. After every twelve steps the faintest tenth of the points is replaced by copies of the strongest ones, slightly
moved. What Adam knows of the points moves with them, so that the fit does not jump.

ticket: practice
class: app-leak
holder: optimizer state Cloud cloud
cause: entries-left
"""

import math
import os
import time

import torch
from torch import nn
from torch.nn import functional as F

COUNT, SIZE, SPARE = 60_000, 96, 6_000


def splat(points, angle):
    """The picture of the points from an angle: each is shared out to the four pixels around it."""
    x = points[:, 0] * math.cos(angle) + points[:, 2] * math.sin(angle)
    place = ((torch.stack([x, points[:, 1]], dim=-1).tanh() + 1) / 2) * (SIZE - 2)
    corner = place.detach().floor()
    part = place - corner
    strength = torch.sigmoid(points[:, 6:7])
    paint = torch.cat([torch.sigmoid(points[:, 3:6]) * strength, strength], dim=-1)
    picture = torch.zeros(SIZE * SIZE, 4, device=points.device)
    for down in (0, 1):
        for right in (0, 1):
            share = (part[:, 0] if right else 1 - part[:, 0]) * (part[:, 1] if down else 1 - part[:, 1])
            pixel = (corner[:, 1] + down) * SIZE + corner[:, 0] + right
            picture = picture.index_add(0, pixel.long(), share[:, None] * paint)
    return picture[:, :3] / (picture[:, 3:] + 1)


def moth(device):
    """The points of the real one: two pairs of wings with eyes on them."""
    turn = 2 * math.pi * torch.rand(COUNT, device=device)
    far = torch.rand(COUNT, device=device).sqrt() * (1 + 0.5 * (2 * turn).cos().abs())
    place = torch.stack([0.8 * far * turn.cos(), far * turn.sin(), 0.2 * far], dim=-1)
    eye = ((far - 0.8).abs() < 0.15).float()[:, None]
    color = torch.tensor([0.5, -0.5, -1.0], device=device) + eye * torch.tensor([1.0, 2.0, 3.0], device=device)
    return torch.cat([place, color, torch.ones(COUNT, 1, device=device)], dim=-1)


class Cloud:
    def __init__(self, device):
        self.points = nn.Parameter(0.5 * torch.randn(COUNT, 7, device=device))
        self.optimizer = torch.optim.Adam([self.points], lr=0.02)

    def fit(self, target, angle):
        loss = F.mse_loss(splat(self.points, angle), target)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.item()

    @torch.no_grad()
    def reseed(self):
        ranks = self.points[:, 6].argsort(descending=True)
        source = torch.cat([ranks[:-SPARE], ranks[:SPARE]])
        moved = self.points[source]
        moved[-SPARE:, :3] += 0.02 * torch.randn_like(moved[-SPARE:, :3])
        fresh = nn.Parameter(moved.clone())  # grows
        known = self.optimizer.state[self.points]
        self.optimizer.state[fresh] = {  # keeps
            "step": known["step"],
            "exp_avg": known["exp_avg"][source],  # grows
            "exp_avg_sq": known["exp_avg_sq"][source],  # grows
        }
        self.optimizer.param_groups[0]["params"] = [fresh]
        self.points = fresh


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, cloud, step = moth(device), Cloud(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        angle = math.pi * torch.rand(()).item()
        loss = cloud.fit(splat(model, angle), angle)
        step += 1
        if step % 12 == 0:
            cloud.reseed()
            print(f"step {step}: loss {loss:.5f}", flush=True)
        time.sleep(0.02)


if __name__ == "__main__":
    main()
