"""Where on a rose border the mildew sits: pictures of the beds, with a map for each ailment.

A public garden photographs its rose borders along the paths. On each round the gardener walks past one border and
takes sixteen pictures; a convolutional network tells for each how likely mildew, black spot and rust are. The
gardener also wants to see the place, so the round takes the network's deep features, weighs them for each ailment
and lays the outcome over the picture, only where leaves are. The worst bed goes on the list for the next morning.

ticket: practice
class: none
"""
import os
import time
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
PICTURES = 16
SIDE = 160
BEAT = 0.25
AILMENTS = ("mildew", "black spot", "rust")
BORDERS = ("long walk", "sundial", "pergola", "south wall", "pond side")


class Eye(nn.Module):
    """Pictures in, likelihood of each ailment out."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 5, stride=2, padding=2)
        self.middle = nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.deep = nn.Conv2d(32, 48, 3, stride=2, padding=1)
        self.head = nn.Linear(48, len(AILMENTS))

    def forward(self, pictures):
        x = F.relu(self.stem(pictures))
        x = F.relu(self.middle(x))
        x = F.relu(self.deep(x))
        return self.head(x.mean((2, 3)))


class Garden:
    """Stands in for the camera: leaves in green, with paler spots here and there."""

    def __init__(self):
        self.making = torch.Generator(device=DEVICE)
        self.making.manual_seed(5)

    def photograph(self):
        coarse = torch.rand(PICTURES, 3, 20, 20, generator=self.making, device=DEVICE)
        leaves = F.interpolate(coarse, size=(SIDE, SIDE), mode="bilinear", align_corners=False)
        grain = torch.rand(PICTURES, 3, SIDE, SIDE, generator=self.making, device=DEVICE)
        return 0.8 * leaves + 0.2 * grain


class Round:
    """One walk along one border."""

    def __init__(self, border, eye):
        self.border = border
        self.eye = eye
        self.features = None
        self.heat = None

    def catch(self, module, inputs, output):
        self.features = output

    def walk(self, pictures):
        handle = self.eye.deep.register_forward_hook(self.catch)
        try:
            likely = self.eye(pictures).sigmoid()
        finally:
            handle.remove()
        self.lay_over(pictures)
        return likely

    def lay_over(self, pictures):
        coarse = torch.einsum("pchw,ac->pahw", F.relu(self.features), self.eye.head.weight)
        green = (pictures[:, 1:2] > pictures[:, 0:1]).float()
        fine = F.interpolate(coarse, size=(SIDE, SIDE), mode="bilinear", align_corners=False)
        self.heat = fine * green

    def worst(self):
        by_picture = self.heat.clamp(min=0).mean((2, 3))
        score, place = by_picture.flatten().max(0)
        picture, ailment = divmod(int(place), len(AILMENTS))
        return picture, AILMENTS[ailment], float(score)


@torch.no_grad()
def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(12)
    eye = Eye().to(DEVICE).eval()
    garden = Garden()
    tomorrow = deque(maxlen=20)
    walked = 0
    while time.time() < end:
        began = time.time()
        border = BORDERS[walked % len(BORDERS)]
        stroll = Round(border, eye)
        likely = stroll.walk(garden.photograph())
        picture, ailment, score = stroll.worst()
        tomorrow.append((border, picture, ailment))
        walked += 1
        if walked % 8 == 0:
            share = likely.mean(0).tolist()
            told = ", ".join(f"{name} {part:.2f}" for name, part in zip(AILMENTS, share))
            print(f"round {walked} ({border}): {told}; see picture {picture} for {ailment} {score:.4f}", flush=True)
        time.sleep(max(0.0, BEAT - (time.time() - began)))
    print(f"{walked} rounds walked, {len(tomorrow)} beds on the list", flush=True)


if __name__ == "__main__":
    main()
