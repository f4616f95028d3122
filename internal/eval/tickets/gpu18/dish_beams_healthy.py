"""Radio dishes in a field listen to a patch of the sky together. From pass to pass other dishes take part (some are
being repaired), so that each pass has an array of its own, with its steering weights for each band. They are asked for
over and over while the pass is worked through; the array remembers them.

ticket: practice
class: none
"""

import math
import os
import random
import time

import torch

DISHES, SIDE = 48, 48
BANDS = (0.9e9, 1.2e9, 1.4e9)
LIGHT = 2.998e8


class Telescope:
    """The dishes of one pass, looking at a grid of directions."""

    def __init__(self, places):
        self.places, self.weights = places, {}
        angles = torch.linspace(-0.02, 0.02, SIDE, device=places.device)
        self.sky = torch.stack(torch.meshgrid(angles, angles, indexing="ij"), -1).flatten(0, 1)

    def steering(self, band):
        if band not in self.weights:
            phase = 2 * math.pi * band / LIGHT * (self.sky @ self.places.T)
            self.weights[band] = torch.polar(torch.full_like(phase, 1 / len(self.places)), phase)
        return self.weights[band]

    def beam(self, signals, band):
        """How bright each direction is."""
        return (self.steering(band) @ signals).abs().square().mean(-1)


def listen(telescope, source, band, moments=64):
    """What the dishes get from one source in the sky, and noise."""
    phase = -2 * math.pi * band / LIGHT * (telescope.places @ telescope.sky[source])
    wave = torch.randn(moments, dtype=torch.complex64, device=phase.device)
    noise = torch.randn(len(telescope.places), moments, dtype=torch.complex64, device=phase.device)
    return torch.polar(torch.ones_like(phase), phase)[:, None] * wave + 3 * noise


class Observatory:
    def __init__(self, device):
        self.field = 300 * torch.randn(64, 2, device=device)
        self.sky = torch.zeros(SIDE * SIDE, device=device)
        self.found = self.tried = 0

    def observe(self):
        telescope = Telescope(self.field[torch.randperm(64)[:DISHES].to(self.field.device)])
        for _ in range(random.randint(6, 12)):
            band, source = random.choice(BANDS), random.randrange(SIDE * SIDE)
            bright = telescope.beam(listen(telescope, source, band), band)
            self.sky.mul_(0.99).add_(bright, alpha=0.01)
            self.found += int(bright.argmax()) == source
            self.tried += 1


def main():
    torch.set_num_threads(1)
    observatory, passes = Observatory("cuda" if torch.cuda.is_available() else "cpu"), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        observatory.observe()
        passes += 1
        if passes % 10 == 0:
            print("pass", passes, "sources found", observatory.found, "of", observatory.tried, "sky",
                  round(float(observatory.sky.mean()), 4), flush=True)
        time.sleep(random.uniform(0.1, 0.5))


if __name__ == "__main__":
    main()
