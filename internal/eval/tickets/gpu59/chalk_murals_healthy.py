"""CHALK MURALS: a wall that repaints itself.
A dream (a slow drifting pattern) passes by and the program draws after it with chalk, one coat at a time. Each coat is
a soft RGBA sheet, rubbed (= optimised) for a few strokes, then fixed onto the wall with hairspray. Then the next coat.

ticket: practice
class: none
"""

import colorsys
import math
import os
import random
import time

import torch

torch.set_num_threads(1)
random.seed(1888)
device = "cuda" if torch.cuda.is_available() else "cpu"

HIGH, WIDE = 288, 512
STROKES = 6          # per coat
TEA_BREAK = 0.05     # between strokes


def pastel():
    """A colour of the box of chalks."""
    return colorsys.hls_to_rgb(random.random(), random.uniform(0.6, 0.85), random.uniform(0.3, 0.7))


class Dream:
    """What the wall longs to look like: three soft waves of colour that never come back the same."""

    def __init__(self):
        self.y = torch.linspace(-1, 1, HIGH, device=device)[:, None]
        self.x = torch.linspace(-1, 1, WIDE, device=device)[None, :]
        self.waves = [(random.uniform(2, 9), random.uniform(2, 9), random.uniform(0.2, 1.5)) for _ in range(3)]
        self.colours = [torch.tensor(pastel(), device=device) for _ in self.waves]

    def at(self, t):
        picture = torch.zeros(3, HIGH, WIDE, device=device)
        for (fx, fy, speed), colour in zip(self.waves, self.colours):
            wave = torch.sin(fx * self.x + speed * t) * torch.cos(fy * self.y - speed * t / math.e)
            picture += colour[:, None, None] * (0.5 + 0.5 * wave) / len(self.waves)
        return picture


def blend(wall, coat):
    """Chalk over wall; the fourth channel says how firmly it was pressed."""
    colour, pressure = torch.sigmoid(coat[:3]), torch.sigmoid(coat[3:] - 1)
    return wall * (1 - pressure) + colour * pressure


def grain(picture):
    """Roughness of the chalk: neighbours should not differ too much."""
    across = (picture[:, :, 1:] - picture[:, :, :-1]).abs().mean()
    down = (picture[:, 1:] - picture[:, :-1]).abs().mean()
    return across + down


class Painter:
    def __init__(self):
        self.wall = torch.full((3, HIGH, WIDE), 0.9, device=device)
        self.chalk = None
        self.coats = 0

    def take_chalk(self):
        """A fresh sheet of chalk, ready to be rubbed."""
        coat = torch.randn(4, HIGH, WIDE, device=device) * 0.1
        coat.requires_grad_()
        lr = 0.25 / (1 + self.coats % 4)
        self.chalk = torch.optim.Adam([coat], lr=lr)
        return coat

    def paint(self, dream):
        coat = self.take_chalk()
        for _ in range(STROKES):
            self.chalk.zero_grad(set_to_none=True)
            picture = blend(self.wall, coat)
            distance = (picture - dream).pow(2).mean() + 0.01 * grain(picture)
            distance.backward()
            self.chalk.step()
            time.sleep(TEA_BREAK)
        with torch.no_grad():
            self.wall = blend(self.wall, coat)
        self.coats += 1
        return distance.item()


if __name__ == "__main__":
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    painter, dream, opened = Painter(), Dream(), time.time()
    while time.time() < end:
        away = painter.paint(dream.at(time.time() - opened))
        if painter.coats % 8 == 1:
            print(f"coat {painter.coats}: {away:.4f} away from the dream", flush=True)
