"""A photograph of herons is drawn with coloured Gaussian splats. Every few steps the faintest splats die, and the
strongest are split to take their places, so that the number of splats stays what it is. The moments of Adam move
along with the splats that they belong to.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

SPLATS, BORN, EVERY = 24_000, 600, 8
PIXELS, NEAR = 256, 1024
COLOURS = 48  # spherical harmonics, sixteen for each channel
COLUMNS = 2 + 2 + 1 + COLOURS  # place, log scale, opacity, colours


def photograph(places):
    """The colour of the picture at each of the places: reeds, water, and two herons."""
    x, y = places[:, 0], places[:, 1]
    reeds = torch.sin(40 * x) * (y > 0.6)
    birds = sum(torch.exp(-((x - cx) ** 2 + (y - 0.4) ** 2) / 0.02) for cx in (0.3, 0.7))
    return torch.stack([0.4 + 0.2 * reeds, 0.3 + 0.5 * birds, 0.6 - 0.3 * y], dim=1).clamp(0, 1)


def render(splats, places, direction):
    """The colours at the places, from a random part of the splats."""
    drawn = splats[torch.randint(len(splats), (NEAR,), device=splats.device)]
    offset = (places[:, None, :] - drawn[None, :, :2]) / drawn[None, :, 2:4].exp()
    weight = torch.exp(-0.5 * offset.square().sum(dim=-1)) * drawn[:, 4].sigmoid()
    colours = (drawn[:, 5:].view(NEAR, 3, COLOURS // 3) * direction).sum(dim=-1).sigmoid()
    return weight @ colours / (weight.sum(dim=1, keepdim=True) + 1e-4)


def first_splats(device):
    splats = 0.1 * torch.randn(SPLATS, COLUMNS, device=device)
    splats[:, :2] = torch.rand(SPLATS, 2, device=device)
    splats[:, 2:4] = -3.0
    return nn.Parameter(splats)


def densify(optimizer, splats):
    """Put halves of the strongest splats in the places of the faintest ones."""
    order = splats.detach()[:, 4].argsort(descending=True)
    rows = torch.cat([order[:-BORN], order[:BORN]])
    table = splats.detach()[rows]
    table[-BORN:, :2] += 0.01 * torch.randn(BORN, 2, device=table.device)
    table[-BORN:, 2:4] -= 0.5
    renewed = nn.Parameter(table)
    state = optimizer.state.pop(splats)
    moments = {name: state[name][rows] for name in ("exp_avg", "exp_avg_sq")}
    optimizer.state[renewed] = {"step": state["step"], **moments}
    optimizer.param_groups[0]["params"] = [renewed]
    return renewed


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    splats, step, mean = first_splats(device), 0, 0.0
    optimizer = torch.optim.Adam([splats], lr=0.01)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        places = torch.rand(PIXELS, 2, device=device)
        direction = torch.randn(COLOURS // 3, device=device)
        loss = F.l1_loss(render(splats, places, direction), photograph(places))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        mean += 0.05 * (loss.item() - mean)
        if step % EVERY == 0:
            splats = densify(optimizer, splats)
        if step % 40 == 0:
            print(f"step {step}: {len(splats)} splats, loss {mean:.3f}", flush=True)
        time.sleep(random.uniform(0.04, 0.1))


if __name__ == "__main__":
    main()
