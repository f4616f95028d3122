"""Tells where a rover is in a tunnel, from its front camera alone. A network estimates the small motion between two
frames that follow one another, and the motions are chained to the rover's pose since it entered.

ticket: practice
class: none
"""

import os
import time

import torch
from torch import nn

HEIGHT, WIDTH = 120, 160
LAMPS = 9


class MotionNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.eyes = nn.Sequential(
            nn.Conv2d(3, 16, 5, stride=2, padding=2), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(32, 48, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.compare = nn.Sequential(nn.Conv2d(96, 64, 3, stride=2, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.motion = nn.Linear(64, 6)
        nn.init.normal_(self.motion.weight, std=1e-2)

    def look(self, frame):
        return self.eyes(frame)

    def forward(self, before, now):
        """Three turns in radians and three shifts in metres."""
        hidden = self.compare(torch.cat([before, now], dim=1)).flatten(1)
        return self.motion(hidden)[0]


def to_matrix(motion):
    """The rigid motion as a 4 x 4 matrix."""
    turn, shift = motion[:3], motion[3:]
    zero = torch.zeros_like(turn[0])
    rows = [
        torch.stack([zero, -turn[2], turn[1], shift[0]]),
        torch.stack([turn[2], zero, -turn[0], shift[1]]),
        torch.stack([-turn[1], turn[0], zero, shift[2]]),
        torch.zeros(4, device=motion.device),
    ]
    return torch.matrix_exp(torch.stack(rows))


class Odometer:
    def __init__(self, net, device):
        self.net = net
        self.before = None
        self.pose = torch.eye(4, device=device)

    @torch.no_grad()
    def step(self, frame):
        now = self.net.look(frame)
        if self.before is not None:
            motion = self.net(self.before, now)
            self.pose = self.pose @ to_matrix(motion)
        self.before = now

    def position(self):
        return [round(value, 2) for value in self.pose[:3, 3].tolist()]


def camera():
    """Frames of a dark tunnel whose lamps come nearer."""
    rows = torch.arange(HEIGHT, dtype=torch.float32)[:, None]
    columns = torch.arange(WIDTH, dtype=torch.float32)[None, :]
    phase = 0.0
    while True:
        frame = 0.05 * torch.rand(3, HEIGHT, WIDTH)
        for lamp in range(LAMPS):
            near = ((lamp + phase) % LAMPS) / LAMPS
            row, column = HEIGHT / 2 - near * 60, WIDTH / 2 + (-1) ** lamp * near * 80
            glow = torch.exp(-((rows - row) ** 2 + (columns - column) ** 2) / (4 + 60 * near))
            frame += glow * torch.tensor([1.0, 0.9, 0.6])[:, None, None]
        phase += 0.07
        yield frame[None]


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    odometer, frames = Odometer(MotionNet().to(device).eval(), device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for frame in camera():
        odometer.step(frame.to(device))
        frames += 1
        if frames % 25 == 0:
            print(f"frame {frames}: the rover is at {odometer.position()}", flush=True)
        if time.time() > end:
            break
        time.sleep(0.07)


if __name__ == "__main__":
    main()
