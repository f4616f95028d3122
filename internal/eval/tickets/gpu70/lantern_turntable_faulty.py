"""A paper lantern is learned from pictures of it: a small neural field holds the colour and the density of each point
of a box, and rays through the box are rendered from it. Every eight steps a turntable shows how far it is. Its pictures
are blended into each other, because the single ones flicker while the field is still rough.

ticket: practice
class: app-leak
holder: shown turntable Turntable
cause: uncut-autograd-graph
"""

import math
import os
import time

import torch
from torch import nn
from torch.nn import functional as F

SIZE, DEPTHS, BANDS, WIDTH = 40, 20, 4, 32


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(3 + 6 * BANDS, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 4)
        )

    def forward(self, points):
        waves = torch.cat([math.pi * 2**band * points for band in range(BANDS)], dim=-1)
        out = self.layers(torch.cat([points, waves.sin(), waves.cos()], dim=-1))  # grows
        return torch.sigmoid(out[..., :3]), F.softplus(4 * out[..., 3])  # grows


def lantern(points):
    """The real one: a glowing ball with ribs in a thin frame."""
    radius = points.norm(dim=-1)
    ribs = (12 * torch.atan2(points[..., 2], points[..., 0])).cos()
    colors = torch.stack([0.9 + 0 * ribs, 0.5 + 0.3 * ribs, 0.2 + 0.1 * ribs], dim=-1)
    return colors, 20.0 * ((radius > 0.55) & (radius < 0.7)).float()


def camera(angle, device):
    """Where the rays start, and where to: they are parallel, and the camera walks round the box."""
    side = torch.linspace(-1, 1, SIZE, device=device)
    up, across = torch.meshgrid(side, side, indexing="ij")
    cos, sin = math.cos(angle), math.sin(angle)
    starts = torch.stack([across * cos - sin, up, across * sin + cos], dim=-1)
    return starts, torch.tensor([sin, 0.0, -cos], device=device)


def render(field, starts, heading):
    spots = torch.rand(SIZE, SIZE, DEPTHS, device=starts.device) / 10
    spots = spots + torch.linspace(0, 2, DEPTHS, device=starts.device)
    colors, density = field(starts[..., None, :] + spots[..., None] * heading)
    clear = torch.exp(-density * 2 / DEPTHS)  # grows
    through = torch.cumprod(torch.cat([torch.ones_like(clear[..., :1]), clear[..., :-1]], dim=-1), dim=-1)  # grows
    return ((through * (1 - clear))[..., None] * colors).sum(dim=-2)  # grows


class Turntable:
    def __init__(self):
        self.angle, self.shown = 0.0, None

    def turn(self, field, device):
        self.angle += 0.05
        picture = render(field, *camera(self.angle, device))  # grows
        self.shown = picture if self.shown is None else torch.lerp(self.shown, picture, 0.3)  # keeps
        return self.shown.mean(dim=(0, 1)).tolist()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    field, turntable, step = Field().to(device), Turntable(), 0
    optimizer = torch.optim.Adam(field.parameters(), lr=3e-3)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        view = camera(2 * math.pi * torch.rand(()).item(), device)
        with torch.no_grad():
            target = render(lantern, *view)
        loss = F.mse_loss(render(field, *view), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 8 == 0:
            red, green, blue = turntable.turn(field, device)
            print(f"{step}: loss {loss.item():.4f}, turntable {red:.2f} {green:.2f} {blue:.2f}", flush=True)
        time.sleep(0.06)


if __name__ == "__main__":
    main()
