"""Tapestry weavers work from a cartoon, a painted sheet of full size that lies behind the warp. This program looks at
photographs of cartoon sections before they go to the loom: an encoder reads the photograph, a probe weighs the
encoder's middle features with the section's own map of weft colours, and the section is passed or sent back.

ticket: practice
class: none
"""
import os
import time
from collections import Counter

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
PHOTO = 128
CHANNELS = 24
GRID = 128
ROUNDS_A_SECOND = 7
FAINT_BELOW = 0.505


class CartoonEncoder(nn.Module):
    """A small convolutional encoder in three stages."""

    def __init__(self):
        super().__init__()
        self.outline = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU())
        self.hatching = nn.Sequential(nn.Conv2d(12, CHANNELS, 3, padding=1), nn.Sigmoid())
        self.summary = nn.Sequential(nn.Conv2d(CHANNELS, 8, 3, stride=4, padding=1), nn.AdaptiveAvgPool2d(1))

    def forward(self, photo):
        return self.summary(self.hatching(self.outline(photo))).flatten(1)


class Section:
    """A piece of the cartoon: its photograph and how much of each weft colour belongs where."""

    def __init__(self, number, generator):
        self.number = number
        self.photo = torch.rand(1, 3, PHOTO, PHOTO, device=DEVICE, generator=generator)
        self.weft_map = torch.rand(CHANNELS, GRID, GRID, device=DEVICE, generator=generator)


class WeftProbe:
    """Weighs the features of one section by its map as they pass."""

    def __init__(self, section):
        self.weft_map = section.weft_map
        self.strength = None

    def __call__(self, module, inputs, features):
        if self.strength is None:
            weighed = (features[0] * self.weft_map).sum() / self.weft_map.sum()
            self.strength = float(weighed)


class Studio:
    """Judges the sections, one after another."""

    def __init__(self, encoder):
        self.encoder = encoder
        self.verdicts = Counter()
        self.level = None

    def judge(self, section):
        probe = WeftProbe(section)
        handle = self.encoder.hatching.register_forward_hook(probe)
        with torch.no_grad():
            summary = self.encoder(section.photo)
        handle.remove()
        relative = self.relative_strength(probe.strength)
        if relative < FAINT_BELOW:
            return self.note("repaint")
        if float(summary.std()) < 1e-4:
            return self.note("flat")
        return self.note("weave")

    def relative_strength(self, strength):
        """Where a strength lies beside the level of the sections so far; 0.5 is as strong as they are."""
        if self.level is None:
            self.level = strength
        offset = strength / self.level - 1.0
        self.level = 0.9 * self.level + 0.1 * strength
        return 0.5 + 100.0 * offset

    def note(self, verdict):
        self.verdicts[verdict] += 1
        return verdict


def main():
    seconds = float(os.environ.get("SECONDS", "120"))
    torch.set_num_threads(1)
    torch.manual_seed(5)
    generator = torch.Generator(device=DEVICE).manual_seed(6)
    studio = Studio(CartoonEncoder().to(DEVICE).eval())
    until = time.monotonic() + seconds
    report_at = time.monotonic() + 2.0
    number = 0
    while time.monotonic() < until:
        number += 1
        section = Section(number, generator)
        verdict = studio.judge(section)
        if time.monotonic() >= report_at:
            report_at += 3.0
            shares = ", ".join(f"{name} {count}" for name, count in sorted(studio.verdicts.items()))
            print(f"section {number}: {verdict}; so far {shares}; level {studio.level:.4f}", flush=True)
        time.sleep(1.0 / ROUNDS_A_SECOND)
    print(f"judged {number} sections: {dict(studio.verdicts)}", flush=True)


if __name__ == "__main__":
    main()
