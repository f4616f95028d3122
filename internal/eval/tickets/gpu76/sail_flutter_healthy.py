"""A digital double of a racing sail. The sail is a net of springs whose stiffness and drag are learned online from
what the mast camera sees: at each frame one step is predicted and the error goes to the optimizer. Beside it a free
copy of the sail runs on under the same wind, pulled gently towards the camera; the flutter of the leech is read there.

ticket: practice
class: none
"""

import math
import os
import time

import torch
from torch import nn

ROWS, COLUMNS, REST, DT = 104, 72, 0.1, 0.02
TRUE_STIFFNESS, TRUE_DRAG = 9.0, 0.8


class Sail(nn.Module):
    """One step of the net of springs; the luff (first column) is fixed to the mast."""

    def __init__(self, stiffness=4.0, drag=0.3):
        super().__init__()
        self.stiffness = nn.Parameter(torch.tensor(stiffness))
        self.drag = nn.Parameter(torch.tensor(drag))

    def pull(self, points, axis):
        apart = points.diff(dim=axis)
        length = apart.norm(dim=-1, keepdim=True).clamp_min(1e-4)
        force = self.stiffness * (length - REST) * apart / length
        nothing = torch.zeros_like(force.narrow(axis, 0, 1))
        return torch.cat([force, nothing], axis) - torch.cat([nothing, force], axis)

    def forward(self, points, speeds, wind):
        force = self.pull(points, 0) + self.pull(points, 1) + self.drag * (wind - speeds)
        speeds = 0.995 * (speeds + DT * force)
        speeds = torch.cat([torch.zeros_like(speeds[:, :1]), speeds[:, 1:]], 1)
        return points + DT * speeds, speeds


class Double:
    """The free copy of the sail."""

    def __init__(self, sail, points):
        self.sail, self.points, self.speeds = sail, points.clone(), torch.zeros_like(points)

    def follow(self, wind, seen):
        with torch.no_grad():
            points, speeds = self.sail(self.points, self.speeds, wind)
        self.points, self.speeds = points + 0.05 * (seen - points), speeds

    def flutter(self):
        return self.speeds[:, -8:].norm(dim=-1).std().item()


def flat_sail(device):
    rows = torch.arange(ROWS, device=device, dtype=torch.float32) * REST
    columns = torch.arange(COLUMNS, device=device, dtype=torch.float32) * REST
    up, along = torch.meshgrid(rows, columns, indexing="ij")
    return torch.stack([along, up, torch.zeros_like(up)], dim=-1)


def gust(second, device):
    strength = 1.0 + 0.5 * math.sin(second) + 0.2 * torch.randn(()).item()
    return strength * torch.tensor([0.8, 0.0, 0.6], device=device) + torch.randn(ROWS, COLUMNS, 3, device=device)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    sail, real = Sail().to(device), Sail(TRUE_STIFFNESS, TRUE_DRAG).to(device).requires_grad_(False)
    optimizer = torch.optim.Adam(sail.parameters(), lr=0.02)
    points = flat_sail(device)
    speeds, free, frame = torch.zeros_like(points), Double(sail, points), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        wind = gust(frame * DT, device)
        next_points, next_speeds = real(points, speeds, wind)
        guess, guessed_speeds = sail(points, speeds, wind)
        loss = (guess - next_points).square().mean() + (guessed_speeds - next_speeds).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        points, speeds = next_points, next_speeds
        free.follow(wind, points)
        frame += 1
        if frame % 50 == 0:
            print(f"frame {frame}: stiffness {sail.stiffness.item():.2f}, drag {sail.drag.item():.2f}, "
                  f"flutter {free.flutter():.3f}", flush=True)
        time.sleep(0.06)


if __name__ == "__main__":
    main()
