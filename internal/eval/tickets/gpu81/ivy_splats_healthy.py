"""Splats for an ivy wall: a cloud of coloured points is fitted to photographs of the wall under changing light. Every
twenty steps the faintest tenth of the splats is given up and the brightest are copied in its place. Adam goes on with
the moments that the splats had, so that the fit does not stumble after each change.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn

POINTS, SIDE, COLOURS = 80_000, 192, 13
REBIRTH, LIGHTS = 20, 6


class Ivy:
    def __init__(self, device):
        points = torch.rand(POINTS, 3 + COLOURS, device=device)
        points[:, 3:] -= 0.5
        self.points = nn.Parameter(points)
        self.optimizer = torch.optim.Adam([self.points], lr=0.005)

    def render(self, light):
        """The wall under one light: each splat is spread over the four pixels around its place."""
        place = self.points[:, :2].clamp(0, 1) * (SIDE - 2)
        corner = place.detach().floor()
        right, down = (place - corner).unbind(1)
        colour = torch.sigmoid(self.points[:, 2:3]) * (self.points[:, 3:] @ light)
        first = corner[:, 1].long() * SIDE + corner[:, 0].long()
        image = torch.zeros(SIDE * SIDE, 3, device=colour.device)
        for offset, weight in (
            (0, (1 - right) * (1 - down)),
            (1, right * (1 - down)),
            (SIDE, (1 - right) * down),
            (SIDE + 1, right * down),
        ):
            image = image.index_add(0, first + offset, colour * weight[:, None])
        return image

    def step(self, light, photo):
        loss = (self.render(light) - photo).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def rebirth(self):
        """Copies of the brightest splats, with their moments, take the places of the faintest."""
        old, few = self.points, POINTS // 10
        order = old[:, 2].argsort()
        chosen = torch.cat([order[few:], order[-few:]])
        new = nn.Parameter(old[chosen])
        state = self.optimizer.state.pop(old)
        moments = {name: state[name][chosen] for name in ("exp_avg", "exp_avg_sq")}
        self.optimizer.state[new] = {"step": state["step"], **moments}
        self.optimizer.param_groups[0]["params"][0] = self.points = new


def photographs(device):
    """Pairs of a light and the wall as it looks in it."""
    leaves = torch.rand(SIDE * SIDE, COLOURS, device=device)
    lights = [torch.randn(COLOURS, 3, device=device) / COLOURS for _ in range(LIGHTS)]
    return [(light, leaves @ light) for light in lights]


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    ivy, photos, steps = Ivy(device), photographs(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        loss = ivy.step(*random.choice(photos))
        steps += 1
        if steps % REBIRTH == 0:
            ivy.rebirth()
            print(f"step {steps}: loss {loss:.4f}", flush=True)
        time.sleep(random.uniform(0.02, 0.06))


if __name__ == "__main__":
    main()
