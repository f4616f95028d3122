"""Counts trout in a creek. Some of them carry a radio tag, and an antenna under the bridge notes the pulse of whatever
passes. A network reads the tag from the pulse, and each tagged fish has a profile, a running picture of its pulses,
which tells whether it is itself. Ripples give tags that no fish has; these are counted as strays.

ticket: practice
class: host-growth
holder: profiles Creek
cause: entries-left buffer-without-bound
"""

import os
import random
import time
from collections import defaultdict

import numpy as np
import torch
from torch import nn

BITS, SAMPLES, PULSES = 24, 512, 32
SPECTRUM = (16, SAMPLES)


def blank():
    """The profile of a fish that has not been seen yet."""
    return np.full(SPECTRUM, 1 / SAMPLES, dtype=np.float32)  # grows


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.bits = nn.Linear(SAMPLES, BITS)
        self.bands = nn.Conv1d(1, SPECTRUM[0], 9, padding=4)

    def forward(self, pulses):
        return self.bits(pulses) > 0, self.bands(pulses[:, None]).softmax(dim=-1)


class Creek:
    def __init__(self, device):
        self.device = device
        self.decoder = Decoder().to(device).eval()
        self.powers = 2 ** torch.arange(BITS, device=device)
        self.known = torch.randn(60, SAMPLES)
        self.profiles = defaultdict(blank)
        self.tagged = set(self.read(self.known)[0])
        self.passed = self.strays = 0

    @torch.inference_mode()
    def read(self, pulses):
        """The tags of some pulses and the pictures of these."""
        bits, pictures = self.decoder(pulses.to(self.device))
        return (bits * self.powers).sum(dim=1).tolist(), pictures.cpu().numpy()

    def likeness(self, tag, picture):
        profile = self.profiles[tag]  # keeps
        return float((np.sqrt(profile) * np.sqrt(picture)).sum() / SPECTRUM[0])

    def watch(self):
        """Read what has passed in a moment: some fish and some ripples."""
        fish = self.known[torch.randint(len(self.known), (PULSES // 2,))]
        pulses = torch.cat([fish, torch.randn(PULSES - len(fish), SAMPLES)])
        likenesses = []
        for tag, picture in zip(*self.read(pulses)):
            likenesses.append(self.likeness(tag, picture))
            if tag in self.tagged:
                self.profiles[tag] = 0.9 * self.profiles[tag] + 0.1 * picture
                self.passed += 1
            else:
                self.strays += 1
        return sum(likenesses) / len(likenesses)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    creek, moments = Creek(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        likeness = creek.watch()
        moments += 1
        if moments % 20 == 0:
            print(f"{creek.passed} fish and {creek.strays} strays have passed, likeness {likeness:.3f}", flush=True)
        time.sleep(random.uniform(0.03, 0.08))


if __name__ == "__main__":
    main()
