"""Inspection of cloth at the looms of a textile mill.

Line cameras photograph the cloth beside the selvedge while it is wound on to a roll. A convolutional network sorts
every strip: sound, broken pick, slack end, oil, float, or a torn edge. At the beginning of a roll the grain of the
first strips is taken down, so that at the roll's end one can say how far the cloth has moved from the roll before;
the fixer resets the loom when it has moved too far. The cameras of eight looms are read together.

ticket: practice
class: app-leak
holder: _forward_hooks reference_grain
cause: hooks-left
"""
import os
import time

import torch
from torch import nn

LOOMS = 8
HEIGHT, BREADTH = 256, 512
STRIPS_A_ROLL = 6
STRIPS_A_SECOND = 20
SORTS = ("sound", "broken pick", "slack end", "oil", "float", "torn edge")


class StripNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 16, 5, stride=2, padding=2), nn.ReLU())
        self.grain = nn.Sequential(nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU())
        self.body = nn.Sequential(
            nn.Conv2d(32, 48, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        self.sort = nn.Linear(48, len(SORTS))

    def forward(self, strips):
        return self.sort(self.body(self.grain(self.stem(strips))))


class LineCameras:
    """Weave, a little skew of the weft, and now and then a mark."""

    def __init__(self, device):
        self.device = device
        self.rows = torch.arange(HEIGHT, device=device).view(1, 1, HEIGHT, 1)
        self.columns = torch.arange(BREADTH, device=device).view(1, 1, 1, BREADTH)

    def photograph(self, skew):
        angle = torch.full((LOOMS, 1, 1, 1), skew, device=self.device)
        angle = angle + 0.01 * torch.randn(LOOMS, 1, 1, 1, device=self.device)
        weft = torch.sin((self.rows + angle * self.columns) * 0.8)
        warp = torch.sin(self.columns * 0.5)
        return 0.5 * (weft + warp) + 0.1 * torch.randn(LOOMS, 1, HEIGHT, BREADTH, device=self.device)


class ClothRoll:
    """One roll on each loom, from the first strip to the doffing."""

    def __init__(self, number, network):
        self.number = number
        self.reference_grain = []
        self.marks = [0] * len(SORTS)
        network.grain.register_forward_hook(self.take_down)  # keeps

    def take_down(self, module, inputs, output):
        if not self.reference_grain:
            self.reference_grain.append(output.detach().clone())  # grows

    def count(self, scores):
        for sort in scores.argmax(dim=1).tolist():
            self.marks[sort] += 1

    def profile(self):
        grain = self.reference_grain[0]
        return grain.mean(dim=(0, 2))


def inspect_roll(roll, network, cameras, deadline):
    skew = 0.02 * (roll.number % 9 - 4)
    due = time.time()
    for _ in range(STRIPS_A_ROLL):
        strips = cameras.photograph(skew)
        with torch.no_grad():
            scores = network(strips)
        roll.count(scores)
        due += 1 / STRIPS_A_SECOND
        pause = due - time.time()
        if pause > 0:
            time.sleep(pause)
        if time.time() >= deadline:
            break


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(19)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    network = StripNetwork().to(device).eval()
    cameras = LineCameras(device)
    before = None
    number = 0
    furthest = 0.0
    print(f"{LOOMS} looms under the cameras, on {device}", flush=True)
    while time.time() < deadline:
        number += 1
        roll = ClothRoll(number, network)
        inspect_roll(roll, network, cameras, deadline)
        profile = roll.profile()
        if before is not None:
            moved = (profile - before).abs().mean().item()
            furthest = max(furthest, moved)
        before = profile
        if number % 12 == 0:
            most = max(range(len(SORTS)), key=roll.marks.__getitem__)
            print(f"roll {number}: mostly {SORTS[most]} ({roll.marks[most]} strips), furthest move {furthest:.4f}",
                  flush=True)
    print(f"shift over, {number} rolls a loom", flush=True)


if __name__ == "__main__":
    main()
