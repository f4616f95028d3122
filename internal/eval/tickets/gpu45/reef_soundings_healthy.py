"""A boat sounds the depth of a reef. After each handful of soundings the map of the depth is drawn anew: each place of
the map takes the mean of all soundings so far, and the near ones weigh most.

ticket: practice
class: none
"""

import os
import time

import torch

SIDE, HANDFUL, YESTERDAY, MOST = 64, 16, 1280, 200_000
NEAR = 0.05
PART = 256

torch.manual_seed(21)
torch.set_num_threads(1)
torch.set_grad_enabled(False)
device = "cuda" if torch.cuda.is_available() else "cpu"
end = time.time() + float(os.environ.get("SECONDS", "45"))

line = torch.linspace(0, 1, SIDE, device=device)
places = torch.cartesian_prod(line, line)

where = torch.zeros(MOST, 2, device=device)
depth = torch.zeros(MOST, device=device)


def reef(points):
    """The true depth, with the error of the lead."""
    x, y = points.unbind(dim=1)
    true = 8 + 3 * torch.sin(6 * x) * torch.cos(4 * y) + 2 * x
    return true + 0.2 * torch.randn_like(true)


def course(moment, count):
    """Where the boat goes next: along a curve that fills the square."""
    t = moment + torch.arange(count, device=device) / count
    path = torch.stack([0.5 + 0.5 * torch.sin(0.37 * t), 0.5 + 0.5 * torch.sin(0.59 * t + 1)], dim=1)
    return (path + 0.02 * torch.randn_like(path)).clamp(0, 1)


def draw_map(where, depth):
    total, weight = 0.0, 0.0
    for some, depths in zip(where.split(PART), depth.split(PART)):
        weights = torch.exp(torch.cdist(places, some).square() / -NEAR ** 2) + 1e-9
        total, weight = total + weights @ depths, weight + weights.sum(dim=1)
    return (total / weight).view(SIDE, SIDE)


# %% the soundings of yesterday

where[:YESTERDAY] = torch.rand(YESTERDAY, 2, device=device)
depth[:YESTERDAY] = reef(where[:YESTERDAY])
count = YESTERDAY
chart = draw_map(where[:count], depth[:count])
print(f"yesterday: {count} soundings, from {chart.min().item():.1f} to {chart.max().item():.1f} m", flush=True)

# %% today

moment = 0
while time.time() < end:
    points = course(moment, HANDFUL)
    where[count:count + HANDFUL] = points
    depth[count:count + HANDFUL] = reef(points)
    count += HANDFUL
    before = chart
    chart = draw_map(where[:count], depth[:count])
    moment += 1
    if moment % 10 == 0:
        change = (chart - before).abs().max().item()
        print(f"{count} soundings: shallowest {chart.min().item():.2f} m, change {change:.3f} m", flush=True)
    time.sleep(0.25)
