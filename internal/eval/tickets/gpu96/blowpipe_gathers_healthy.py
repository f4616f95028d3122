"""A glass blower takes a gather of molten glass on the pipe, turns it, and blows. A heat camera watches the
gather, and an encoder turns its pictures into features from which a sag is foreseen. Each gather is compared
with a reference field made for its own colour and weight: a probe looks at the encoder's features during the
turns of that one gather and grades how evenly it was turned.

ticket: practice
class: none
"""
import os
import random
import time
from collections import Counter, deque

import torch
from torch import nn

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
GATHERS_PER_SECOND = 5
TURNS = 3
CHANNELS, SIDE = 24, 112
COLOURS = ("amber", "cobalt", "copper ruby", "opal", "sea green")


class HeatEncoder(nn.Module):
    """Features of a heat picture."""

    def __init__(self):
        super().__init__()
        self.coarse = nn.Conv2d(1, 8, kernel_size=3, stride=2, padding=1)
        self.fine = nn.Conv2d(8, CHANNELS, kernel_size=3, padding=1)

    def forward(self, picture):
        return torch.relu(self.fine(torch.relu(self.coarse(picture))))


class GatherProbe:
    """Follows one gather: how far the features stray from its reference field."""

    def __init__(self, colour, weight, reference):
        self.colour = colour
        self.weight = weight
        self.reference = reference
        self.strays = []

    def on_features(self, module, inputs, features):
        if len(self.strays) < TURNS:
            self.strays.append((features[0] - self.reference).abs().mean())

    def grade(self):
        stray = torch.stack(self.strays)
        return (stray.max() - stray.min()).item() / self.weight


class Bench:
    """One blower's bench: the furnace camera, the encoder and the record of the day."""

    def __init__(self, seed):
        torch.manual_seed(seed)
        self.random = random.Random(seed)
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.encoder = HeatEncoder().to(DEVICE).eval()
        self.palette = torch.rand(48, CHANNELS, SIDE, SIDE, generator=self.generator, device=DEVICE)
        self.grades = deque(maxlen=60)
        self.colours = Counter()
        self.sag = 0.0

    def _reference(self, colour, weight):
        shade = self.palette[COLOURS.index(colour) * 9]
        return shade * weight

    def _picture(self, weight):
        noise = torch.rand(1, 1, 2 * SIDE, 2 * SIDE, generator=self.generator, device=DEVICE)
        return noise * (0.5 + weight)

    @torch.no_grad()
    def blow(self):
        colour = self.random.choice(COLOURS)
        weight = self.random.uniform(0.3, 1.8)
        probe = GatherProbe(colour, weight, self._reference(colour, weight))
        handle = self.encoder.register_forward_hook(probe.on_features)
        for _ in range(TURNS):
            features = self.encoder(self._picture(weight))
            lower, upper = features[..., SIDE // 2:, :].mean(), features[..., :SIDE // 2, :].mean()
            self.sag = 0.9 * self.sag + 0.1 * (lower - upper).item()
        handle.remove()
        self.grades.append(probe.grade())
        self.colours[probe.colour] += 1
        return handle.id

    def evenness(self):
        return 1.0 - sum(self.grades) / max(1, len(self.grades))


def main():
    bench = Bench(71)
    started = spoken = time.monotonic()
    gathers = 0
    while time.monotonic() - started < SECONDS:
        begun = time.monotonic()
        piece = bench.blow()
        gathers += 1
        if begun - spoken >= 3.0:
            spoken = begun
            colour, number = bench.colours.most_common(1)[0]
            print(f"{begun - started:5.1f} s  gather {gathers:4d} (mark {piece})  evenness {bench.evenness():.4f}  "
                  f"sag {bench.sag:+.5f}  most blown {colour} ({number})", flush=True)
        time.sleep(max(0.005, 1.0 / GATHERS_PER_SECOND - (time.monotonic() - begun)))
    print(f"furnace down: {gathers} gathers, evenness {bench.evenness():.4f}", flush=True)


if __name__ == "__main__":
    main()
