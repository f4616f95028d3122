"""Crack detection on the stay cables of a road bridge.

A climbing robot rides up one cable after the other and sends short strips of camera frames. A convolutional
network scores every frame. During a ride the feature maps of the middle stage are collected, and at the top of
the cable they are condensed into a heat profile, which goes into the sheet of the worst spots of the bridge.

ticket: practice
class: app-leak
holder: _forward_hooks features
cause: hooks-left
"""
import math
import os
import time

import torch
from torch import nn

FRAMES, HEIGHT, WIDTH = 4, 128, 256
STRIPS_PER_RIDE = 7
CABLES = 24
PACE = 0.15


class CableNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(1, width, 5, stride=2, padding=2), nn.GroupNorm(8, width), nn.SiLU())
        self.middle = nn.Sequential(
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.GroupNorm(8, 2 * width), nn.SiLU())
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2 * width, 1))

    def forward(self, frames):
        deep = self.middle(self.stem(frames))  # grows
        return self.head(deep).squeeze(1)


class Camera:
    """Draws strips of a cable: wound wires, noise, and now and then a dark line across them."""

    def __init__(self, device, seed=7):
        self.device = device
        self.generator = torch.Generator().manual_seed(seed)
        across = torch.linspace(0, 24 * math.pi, WIDTH)
        along = torch.linspace(0, 9 * math.pi, HEIGHT)
        self.wires = torch.sin(across[None, :] + along[:, None]).to(device)

    def strip(self):
        noise = torch.randn(FRAMES, 1, HEIGHT, WIDTH, generator=self.generator)
        frames = self.wires + 0.3 * noise.to(self.device)
        if torch.rand(1, generator=self.generator).item() < 0.3:
            row = int(torch.randint(8, HEIGHT - 8, (1,), generator=self.generator))
            frames[:, :, row - 2:row + 2] -= 2.0
        return frames


class Ride:
    """One climb along a cable, with the maps that the middle stage gave on the way."""

    def __init__(self, net, cable):
        self.cable = cable
        self.running = True
        self.features = []
        self.scores = []
        self.handle = net.middle.register_forward_hook(self.collect)  # keeps

    def collect(self, module, inputs, output):
        if self.running:
            self.features.append(output.detach())  # keeps

    def note(self, scores):
        self.scores.extend(torch.sigmoid(scores).tolist())

    def finish(self):
        self.running = False
        heat = torch.cat(self.features).abs().mean(dim=1)
        profile = heat.amax(dim=2).mean(dim=0)
        return profile.cpu().tolist(), max(self.scores)


class Sheet:
    """The hottest row of each cable, one entry a cable."""

    def __init__(self):
        self.spots = {}

    def enter(self, cable, profile, score):
        row = max(range(len(profile)), key=profile.__getitem__)
        self.spots[cable] = (profile[row], row, score)

    def worst(self):
        cable = max(self.spots, key=lambda name: self.spots[name][0])
        heat, row, score = self.spots[cable]
        return f"cable {cable:2d} row {row:2d} heat {heat:.3f} score {score:.3f}"


@torch.no_grad()
def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(11)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    net = CableNet().to(device).eval()
    camera, sheet = Camera(device), Sheet()
    rides, spoken = 0, time.time()
    while time.time() < end:
        ride = Ride(net, rides % CABLES)
        for _ in range(STRIPS_PER_RIDE):
            started = time.time()
            ride.note(net(camera.strip()))
            time.sleep(max(0.0, PACE - (time.time() - started)))
        profile, score = ride.finish()
        sheet.enter(ride.cable, profile, score)
        rides += 1
        if time.time() - spoken > 3:
            spoken = time.time()
            print(f"ride {rides}: worst so far {sheet.worst()}", flush=True)
    print(f"{rides} rides done, {sheet.worst()}", flush=True)


if __name__ == "__main__":
    main()
