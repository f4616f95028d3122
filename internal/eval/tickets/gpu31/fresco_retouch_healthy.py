"""A desk for the digital retouching of frescoes. The restorer paints over cracks, softens stains and lifts the light
of dull spots, and takes strokes back or does them again. The last six versions can be undone. Each version knows the
one before it, so that the desk can say how much a stroke has changed.

ticket: practice
class: none
"""

import os
import random
import time
from collections import deque
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

HEIGHT, WIDTH, BRUSH, UNDOS = 640, 896, 96, 6


@dataclass
class Version:
    pixels: Tensor
    tool: str
    parent: "Version"

    def change(self):
        """The mean change of a pixel against the version before, in percent."""
        if self.parent is None:
            return 0.0
        return 100 * (self.pixels - self.parent.pixels).abs().mean().item()


def soften(spot):
    padded = F.pad(spot[None], (2, 2, 2, 2), mode="replicate")
    return F.avg_pool2d(padded, 5, stride=1)[0]


def lighten(spot):
    return spot.clamp(1e-4, 1) ** 0.9


def fill_crack(spot):
    level = spot.median()
    return torch.where(spot < 0.5 * level, level, spot)


TOOLS = {"soften": soften, "lighten": lighten, "fill crack": fill_crack}


class Desk:
    def __init__(self, pixels):
        self.current = Version(pixels, "scan", None)
        self.undos = deque(maxlen=UNDOS)
        self.redos = []

    def stroke(self, tool, top, left):
        pixels = self.current.pixels.clone()
        spot = (slice(None), slice(top, top + BRUSH), slice(left, left + BRUSH))
        pixels[spot] = TOOLS[tool](pixels[spot])
        self.undos.append(self.current)
        self.undos[0].parent = None
        self.redos.clear()
        self.current = Version(pixels, tool, parent=self.current)

    def undo(self):
        if self.undos:
            self.redos.append(self.current)
            self.current = self.undos.pop()

    def redo(self):
        if self.redos:
            self.undos.append(self.current)
            self.current = self.redos.pop()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    scan = F.interpolate(torch.rand(1, 3, 40, 56, device=device), (HEIGHT, WIDTH), mode="bilinear", align_corners=False)
    desk, actions = Desk(scan[0]), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        choice = random.random()
        if choice < 0.8:
            top, left = random.randrange(HEIGHT - BRUSH), random.randrange(WIDTH - BRUSH)
            desk.stroke(random.choice(list(TOOLS)), top, left)
        elif choice < 0.95:
            desk.undo()
        else:
            desk.redo()
        actions += 1
        if actions % 20 == 0:
            print(f"{actions} actions, {desk.current.tool}: {desk.current.change():.4f} % changed", flush=True)
        time.sleep(random.uniform(0.05, 0.3))


if __name__ == "__main__":
    main()
