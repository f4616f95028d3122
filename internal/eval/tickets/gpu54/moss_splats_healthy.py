"""Paints a picture of moss with many small soft dots, whose places, colours and strengths Adam fits. After each round
the faintest dots are moved onto the strongest ones, as in Gaussian splatting, and the moments move along with them.

ticket: practice
class: none
"""

import os
import time

import torch
from torch import nn
from torch.nn import functional as F

DOTS, SIDE, MOVED = 24_000, 160, 300
ROUND = 8
RATES = {"places": 1e-3, "colours": 4e-3, "strengths": 1e-2}


def moss(device):
    """Green noise at three scales."""
    picture = torch.zeros(1, 3, SIDE, SIDE)
    for cells in (4, 12, 40):
        noise = torch.rand(1, 3, cells, cells) * torch.tensor([0.4, 1.0, 0.3]).view(1, 3, 1, 1)
        picture += F.interpolate(noise, size=(SIDE, SIDE), mode="bilinear", align_corners=False)
    return (picture[0] / picture.max()).to(device)


class Splats:
    def __init__(self, device):
        values = {
            "places": torch.rand(DOTS, 2, device=device),
            "colours": 0.1 * torch.randn(DOTS, 12, device=device),
            "strengths": torch.zeros(DOTS, 1, device=device),
        }
        groups = [{"params": [nn.Parameter(values[name])], "lr": rate, "name": name} for name, rate in RATES.items()]
        self.optimizer = torch.optim.Adam(groups, eps=1e-15)

    def values(self):
        return {group["name"]: group["params"][0] for group in self.optimizer.param_groups}

    def render(self):
        """Each dot shines on the four pixels around it, with the four colours of its corners."""
        values = self.values()
        spots = values["places"].clamp(0, 0.999) * (SIDE - 1)
        corner = spots.detach().floor()
        right, down = (spots - corner).unbind(1)
        shares = torch.stack([(1 - right) * (1 - down), right * (1 - down), (1 - right) * down, right * down], dim=1)
        light = (shares * torch.sigmoid(values["strengths"]))[:, :, None] * values["colours"].view(DOTS, 4, 3)
        first = corner[:, 1].long() * SIDE + corner[:, 0].long()
        pixels = torch.stack([first, first + 1, first + SIDE, first + SIDE + 1], dim=1)
        canvas = light.new_zeros(SIDE * SIDE, 3).index_add(0, pixels.flatten(), light.reshape(-1, 3))
        return canvas.T.view(3, SIDE, SIDE)

    @torch.no_grad()
    def relocate(self):
        """Moves the faintest dots onto the strongest; every dot takes its moments along."""
        order = self.values()["strengths"][:, 0].argsort()
        source = torch.arange(DOTS, device=order.device)
        source[order[:MOVED]] = order[-MOVED:]
        for group in self.optimizer.param_groups:
            old = group["params"][0]
            moments = self.optimizer.state.pop(old)
            group["params"][0] = nn.Parameter(old[source])
            self.optimizer.state[group["params"][0]] = {
                "step": moments["step"].clone(),
                "exp_avg": moments["exp_avg"][source],
                "exp_avg_sq": moments["exp_avg_sq"][source],
            }


def main():
    torch.set_num_threads(1)
    torch.manual_seed(3)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    picture, splats, rounds = moss(device), Splats(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for _ in range(ROUND):
            splats.optimizer.zero_grad()
            loss = F.mse_loss(splats.render(), picture)
            loss.backward()
            splats.optimizer.step()
            time.sleep(0.02)
        splats.relocate()
        rounds += 1
        if rounds % 10 == 0:
            print(f"round {rounds}: error {loss.item():.5f}", flush=True)


if __name__ == "__main__":
    main()
