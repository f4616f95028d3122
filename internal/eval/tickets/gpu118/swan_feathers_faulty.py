"""Feather reading for the ringed swans of a lake.

The barbs of a feather show how well a swan fed while it grew. Photographs of moulted feathers are rated by a
small network on the device, and their barb spectra are worked out on the host, where the plumage
of each ringed bird is put together from the spectra of its feathers.

ticket: practice
class: host-growth
holder: spectra
cause: results-kept
"""
import os
import random
import time

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
SIDE = 360
BIRDS = ["7A31", "7A44", "7B02", "7B19", "7C55", "7C60", "7D08", "7D77", "7E13", "7E90", "7F21", "7F36"]


class FeatherCamera:
    """Photographs of feathers: barbs as stripes of some pitch, with grain on top."""

    def __init__(self, seed):
        self._chance = random.Random(seed)
        self._random = torch.Generator().manual_seed(seed)
        self._rows = torch.arange(SIDE).float().unsqueeze(1)
        self._columns = torch.arange(SIDE).float().unsqueeze(0)
        self._basket = []

    def shoot(self):
        if not self._basket:
            self._basket = self._chance.sample(BIRDS, len(BIRDS))
        bird = self._basket.pop()
        pitch = 6.0 + BIRDS.index(bird) + self._chance.random()
        barbs = torch.sin((self._rows + 0.4 * self._columns) * 6.283 / pitch)
        grain = 0.3 * torch.randn(SIDE, SIDE, generator=self._random)
        return bird, barbs + grain


class WearRater(nn.Module):
    """Rates the wear of a feather between fresh (0) and worn (1)."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 16, 5, stride=3), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(512, 1),
        )

    def forward(self, photographs):
        return torch.sigmoid(self.layers(photographs)).squeeze(1)


class Plumage:
    """The barb spectrum of each ringed bird over its feathers."""

    def __init__(self):
        window = torch.hann_window(SIDE)
        self._window = window.unsqueeze(1) * window.unsqueeze(0)
        self.spectra = {}
        self.feathers = dict.fromkeys(BIRDS, 0)

    def read(self, photograph):
        wave = torch.fft.fft2((photograph - photograph.mean()) * self._window)
        return torch.log1p(wave.abs())  # grows

    def add(self, bird, photograph):
        spectrum = self.read(photograph)
        self.feathers[bird] += 1
        self.spectra.setdefault(bird, []).append(spectrum)  # keeps

    def typical(self, bird):
        typical = self.spectra[bird][0].clone()
        for spectrum in self.spectra[bird][-10:]:
            typical.lerp_(spectrum, 0.2)
        return typical

    def pitch(self, bird):
        """Distance of the barbs in pixels, from the strongest row of the typical spectrum."""
        half = self.typical(bird)[1:SIDE // 2, :SIDE // 2].amax(dim=1)
        return SIDE / (1 + half.argmax().item())


class FeatherRoom:
    def __init__(self):
        torch.manual_seed(17)
        self.camera = FeatherCamera(seed=18)
        self.rater = WearRater().to(DEVICE).eval()
        self.plumage = Plumage()
        self.wear = dict.fromkeys(BIRDS, 0.5)
        self.lately = BIRDS[0]

    @torch.inference_mode()
    def rate(self, photograph):
        return self.rater(photograph.to(DEVICE)[None, None]).item()

    def round(self):
        bird, photograph = self.camera.shoot()
        self.wear[bird] += 0.1 * (self.rate(photograph) - self.wear[bird])
        self.plumage.add(bird, photograph)
        self.lately = bird


def main():
    torch.set_num_threads(1)
    room = FeatherRoom()
    end = time.monotonic() + SECONDS
    due = time.monotonic()
    rounds = 0
    while time.monotonic() < end:
        room.round()
        rounds += 1
        if rounds % 25 == 0:
            bird = room.lately
            print(f"{rounds} feathers; bird {bird}: {room.plumage.feathers[bird]} feathers, "
                  f"pitch {room.plumage.pitch(bird):.1f}, wear {room.wear[bird]:.2f}", flush=True)
        due += 1.0 / ROUNDS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    most = max(BIRDS, key=room.plumage.feathers.get)
    print(f"room closed: {rounds} feathers, most of them of bird {most}", flush=True)


if __name__ == "__main__":
    main()
