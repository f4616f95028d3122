"""Fits a cloud of coloured points to photos of a mossy boulder that were taken in a circle around it. Now and then the
points that the loss hardly pulls at are dropped and those that it pulls at most are doubled; they take their moments of
Adam along.

ticket: practice
class: none
"""

import math
import os
import time

import torch
from torch import nn
from torch.nn import functional as F

POINTS, BANDS, SIZE, VIEWS = 24_000, 16, 96, 12
RENEW_EVERY, SHARE = 12, 2_000


class Cloud:
    def __init__(self, device):
        self.parts = {
            "places": nn.Parameter(0.4 * torch.randn(POINTS, 3, device=device)),
            "colours": nn.Parameter(0.1 * torch.randn(POINTS, BANDS, 3, device=device)),
            "weights": nn.Parameter(torch.zeros(POINTS, device=device)),
        }
        rates = {"places": 2e-3, "colours": 1e-2, "weights": 2e-2}
        groups = [{"params": [part], "lr": rates[name], "name": name} for name, part in self.parts.items()]
        self.optimizer = torch.optim.Adam(groups)
        self.pull = torch.zeros(POINTS, device=device)
        self.bands = torch.linspace(0.0, 3.0, BANDS, device=device)

    def render(self, yaw):
        x, y, z = self.parts["places"].unbind(1)
        across = x * math.cos(yaw) - z * math.sin(yaw)
        depth = x * math.sin(yaw) + z * math.cos(yaw) + 3.0
        basis = torch.cos(self.bands * yaw + depth.detach()[:, None] * 0.1)
        colours = torch.sigmoid((self.parts["colours"] * basis[:, :, None]).sum(1))
        u = ((across / depth + 0.5) * SIZE).clamp(0, SIZE - 1.01)
        v = ((y / depth + 0.5) * SIZE).clamp(0, SIZE - 1.01)
        opacity = torch.sigmoid(self.parts["weights"])
        left, top = u.detach().floor(), v.detach().floor()
        picture = colours.new_zeros(SIZE * SIZE, 4)
        points = torch.cat([colours, torch.ones_like(colours[:, :1])], dim=1)
        for right in (0, 1):
            for below in (0, 1):
                near = (1 - (u - left - right).abs()) * (1 - (v - top - below).abs()) * opacity
                pixel = ((top + below) * SIZE + left + right).long()
                picture = picture.index_add(0, pixel, near[:, None] * points)
        return picture[:, :3] / (picture[:, 3:] + 0.05)

    def step(self, photo, yaw):
        loss = F.mse_loss(self.render(yaw), photo)
        loss.backward()
        self.pull += self.parts["places"].grad.norm(dim=1)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    @torch.no_grad()
    def renew(self):
        """Drop the idle points and double the busy ones; the number of the points stays."""
        order = self.pull.argsort()
        chosen = torch.cat([order[SHARE:], order[-SHARE:]])
        for group in self.optimizer.param_groups:
            old = group["params"][0]
            fresh = nn.Parameter(old.detach()[chosen])
            moments = self.optimizer.state.pop(old)
            moments = {name: value[chosen] if value.dim() else value for name, value in moments.items()}
            self.optimizer.state[fresh] = moments
            group["params"][0] = fresh
            self.parts[group["name"]] = fresh
        self.pull.zero_()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    photos = F.interpolate(torch.rand(VIEWS, 3, 7, 7), size=(SIZE, SIZE), mode="bilinear", align_corners=True)
    photos = photos.flatten(2).transpose(1, 2).contiguous().to(device)
    cloud, steps = Cloud(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        view = steps % VIEWS
        loss = cloud.step(photos[view], 2 * math.pi * view / VIEWS)
        steps += 1
        if steps % RENEW_EVERY == 0:
            cloud.renew()
        if steps % 50 == 0:
            print(f"step {steps}: loss {loss.item():.4f}", flush=True)
        time.sleep(0.06)


if __name__ == "__main__":
    main()
