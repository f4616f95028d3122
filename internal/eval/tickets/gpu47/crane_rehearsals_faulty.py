"""A rehearsal without the crane: the harbour's camera is played by a noisy picture, a network finds the container in
it and says where to move, and a mock stands in for the crane, so that the whole night can be run on a desk. After each
round the number of moves is printed as the mock counted them.

ticket: practice
class: host-growth
holder: mock_calls call_args_list Mock crane
cause: results-kept buffer-without-bound
"""

import os
import random
import time
from unittest.mock import Mock

import numpy as np
import torch
from torch import nn

HEIGHT, WIDTH, ROUND = 360, 480, 25


class Crane:
    """What the driver of the real crane offers."""

    def move(self, across, along):
        raise RuntimeError("no crane is connected")

    def grip(self):
        raise RuntimeError("no crane is connected")

    def show(self, picture):
        """Shows a picture in the cabin."""
        raise RuntimeError("no crane is connected")


class Finder(nn.Module):
    """The place of the container as the centre of a heat map."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 12, 7, stride=4, padding=3), nn.ReLU(), nn.Conv2d(12, 1, 5, stride=2, padding=2)
        )

    def forward(self, picture):
        heat = self.layers(picture)[0, 0]
        weights = (20 * heat).flatten().softmax(0).view_as(heat)
        rows = torch.linspace(-1, 1, heat.shape[0], device=heat.device)
        columns = torch.linspace(-1, 1, heat.shape[1], device=heat.device)
        return (weights.sum(1) @ rows).item(), (weights.sum(0) @ columns).item(), weights


def camera(device):
    picture = 0.2 * torch.rand(1, 3, HEIGHT, WIDTH, device=device)
    top, left = random.randrange(HEIGHT - 60), random.randrange(WIDTH - 90)
    picture[:, :, top : top + 60, left : left + 90] += 0.7
    return picture


def overlay(picture, weights):
    """The picture with the heat in red, as bytes for the screen."""
    red = nn.functional.interpolate(weights[None, None] / weights.max(), size=(HEIGHT, WIDTH), mode="bilinear")
    mixed = picture.clone()
    mixed[:, :1] = torch.maximum(mixed[:, :1], red)
    return (mixed[0].permute(1, 2, 0).clamp(0, 1) * 255).byte().cpu().numpy()


@torch.no_grad()
def rehearse(finder, crane, device):
    picture = camera(device)
    across, along, weights = finder(picture)
    screen = overlay(picture, weights)  # grows
    crane.show(screen)  # keeps
    crane.move(across, along)
    if abs(across) < 0.02:
        crane.grip()
    return np.hypot(across, along)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    finder, crane = Finder().to(device).eval(), Mock(spec=Crane)
    rounds = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        ways = []
        for _ in range(ROUND):
            ways.append(rehearse(finder, crane, device))
            time.sleep(random.uniform(0.02, 0.08))
        rounds += 1
        print(f"round {rounds}: {crane.move.call_count} moves, {crane.grip.call_count} grips, "
              f"mean way {np.mean(ways):.3f}", flush=True)


if __name__ == "__main__":
    main()
