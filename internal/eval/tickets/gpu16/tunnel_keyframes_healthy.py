"""A car drives through a tunnel and maps its wall, to find cracks. Now and then a picture becomes a keyframe; a network
over the places of the wall is fitted to the keyframes of the last while, each of which has corrections of its own for
the light of that moment. The corrections of a new keyframe are added to the optimizer as it drives along, and those of
a keyframe that has been left behind are taken out of it.

ticket: practice
class: none
"""

import math
import os
import random
import time

import torch
from torch import nn

HIGH, WIDE, WINDOW, WIDTH = 480, 640, 4, 64


class Wall(nn.Module):
    """How bright the wall is at a place along and around the tunnel."""

    def __init__(self):
        super().__init__()
        self.register_buffer("waves", torch.randn(2, WIDTH // 2) * 3)
        self.layers = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(),
                                    nn.Linear(WIDTH, 1))

    def forward(self, places):
        phase = places @ self.waves
        return self.layers(torch.cat((phase.sin(), phase.cos()), -1))[..., 0]


class Keyframe:
    def __init__(self, picture, start, device):
        self.picture, self.start = picture.to(device), start
        self.light = nn.Parameter(torch.zeros(HIGH, WIDE, device=device))


class Mapper:
    def __init__(self, device):
        self.device, self.wall, self.window = device, Wall().to(device), []
        self.optimizer = torch.optim.Adam([{"params": list(self.wall.parameters()), "lr": 2e-3}])

    def add(self, picture, start):
        """Begins with a new keyframe, and leaves the oldest one behind."""
        frame = Keyframe(picture, start, self.device)
        self.window.append(frame)
        self.optimizer.add_param_group({"params": [frame.light], "lr": 1e-2})
        if len(self.window) > WINDOW:
            self.forget(self.window.pop(0))

    def forget(self, frame):
        groups = self.optimizer.param_groups
        groups[:] = [group for group in groups if group["params"][0] is not frame.light]
        self.optimizer.state.pop(frame.light, None)

    def fit(self, points=2048):
        """A step towards what the keyframes show, at some of their points."""
        self.optimizer.zero_grad(set_to_none=True)
        loss = 0.0
        for frame in self.window:
            row = torch.randint(HIGH, (points,), device=self.device)
            column = torch.randint(WIDE, (points,), device=self.device)
            along = frame.start + column / WIDE
            around = 2 * row / HIGH - 1
            said = self.wall(torch.stack((along, around), -1)) + frame.light[row, column]
            loss = loss + (said - frame.picture[row, column]).square().mean() + 1e-3 * frame.light.abs().mean()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def photograph(start):
    """A stretch of the wall, with joints, a crack, and the lamp somewhere."""
    along = start + torch.linspace(0, 1, WIDE)[None, :]
    around = torch.linspace(-1, 1, HIGH)[:, None]
    joints = (torch.sin(8 * math.pi * along) > 0.95).float() * 0.3
    crack = torch.exp(-((around - 0.3 * torch.sin(5 * along)) / 0.01) ** 2) * 0.5
    lamp = random.uniform(0.5, 1.0) * torch.exp(-(around - random.uniform(-0.5, 0.5)) ** 2)
    return lamp * (0.7 - joints - crack) + 0.02 * torch.randn(HIGH, WIDE)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    mapper, start, frames = Mapper(device), 0.0, 0
    while time.time() < end:
        mapper.add(photograph(start), start)
        for _ in range(random.randint(4, 10)):
            loss = mapper.fit()
        frames += 1
        start += random.uniform(0.3, 0.7)
        if frames % 8 == 0:
            print("keyframe", frames, "at", round(start, 1), "loss", round(float(loss), 4), flush=True)
        time.sleep(random.uniform(0.1, 0.5))


if __name__ == "__main__":
    main()
