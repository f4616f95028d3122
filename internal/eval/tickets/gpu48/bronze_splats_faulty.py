"""Fits a cloud of coloured splats to a picture of a bronze statue that is seen from many sides. Now and then the
faintest splats are moved to where the brightest ones are, so that their number stays the same; Adam's moments are
carried over row by row.

ticket: practice
class: app-leak
holder: optimizer state Adam exp_avg
cause: optimizer-groups-added buffer-without-bound
"""

import os
import random
import time

import torch
from torch import nn

SPLATS, BANDS, PIXELS = 16_000, 16, 128
MOVE_EVERY, MOVED = 10, 800
RATES = {"places": 1e-3, "widths": 5e-3, "weights": 2e-2, "colours": 5e-3}


class Cloud:
    def __init__(self, device):
        self.values = {
            "places": nn.Parameter(torch.rand(SPLATS, 2, device=device)),
            "widths": nn.Parameter(torch.full((SPLATS,), -3.5, device=device)),
            "weights": nn.Parameter(torch.zeros(SPLATS, device=device)),
            "colours": nn.Parameter(0.1 * torch.randn(SPLATS, 3, BANDS, device=device)),
        }
        groups = [{"params": [value], "lr": RATES[name], "name": name} for name, value in self.values.items()]
        self.optimizer = torch.optim.Adam(groups, eps=1e-15)

    def render(self, pixels, view):
        """The colours of some pixels, when the statue is seen from one side."""
        apart = torch.cdist(pixels, self.values["places"])
        near = torch.exp(-0.5 * (apart / self.values["widths"].exp()) ** 2)
        cover = near * torch.sigmoid(self.values["weights"])
        colours = torch.sigmoid(self.values["colours"] @ view)
        return cover @ colours / (cover.sum(dim=1, keepdim=True) + 1e-3)

    @torch.no_grad()
    def move_faint(self):
        """Put the faintest splats onto the brightest ones."""
        order = self.values["weights"].argsort(descending=True)
        rows = torch.cat([order[:-MOVED], order[:MOVED]])
        for group in self.optimizer.param_groups:
            old = group["params"][0]
            state = self.optimizer.state[old]
            new = nn.Parameter(old[rows])  # grows
            self.optimizer.state[new] = {  # keeps
                "step": state["step"],
                "exp_avg": state["exp_avg"][rows],  # grows
                "exp_avg_sq": state["exp_avg_sq"][rows],  # grows
            }
            group["params"][0] = self.values[group["name"]] = new


class Statue:
    """Stands in for the photographs: bands of bronze and verdigris, and a light that goes round."""

    def __init__(self, device):
        self.stripes = torch.tensor([[9.0, 4.0, 2.0], [3.0, 7.0, 11.0]], device=device)
        self.device = device

    def look(self):
        angle = random.uniform(0, 6.28)
        pixels = torch.rand(PIXELS, 2, device=self.device)
        colours = 0.5 + 0.4 * torch.sin(pixels @ self.stripes + angle)
        view = torch.cos(angle * torch.arange(BANDS, device=self.device))
        return pixels, view, colours


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    cloud, statue, step = Cloud(device), Statue(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        pixels, view, colours = statue.look()
        loss = (cloud.render(pixels, view) - colours).abs().mean()
        cloud.optimizer.zero_grad()
        loss.backward()  # grows
        cloud.optimizer.step()
        step += 1
        if step % MOVE_EVERY == 0:
            cloud.move_faint()
        if step % 50 == 0:
            print(f"step {step}: off by {loss.item():.4f}, {len(cloud.values['weights'])} splats", flush=True)
        time.sleep(0.05)


if __name__ == "__main__":
    main()
