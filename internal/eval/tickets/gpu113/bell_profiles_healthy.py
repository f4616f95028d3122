"""Design office of a bell foundry.

Customers ask for bells of a given pitch and weight. For each request the office draws a profile of the wall, works
out the stiffness of its rings, and from that the spectrum of partials that the bell will have for a given tuning on
the lathe. Profiles come back again as long as a ring of bells is in design; spectra are asked for twice, for the
drawing and the quote.

ticket: practice
class: none
"""
import os
import random
import time
from collections import OrderedDict

import torch

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 8
PROFILE_LIMIT = 160
SPECTRA_LIMIT = 24
RINGS = 256
FREQUENCIES = 131072

torch.set_num_threads(1)


class ProfileLibrary:
    """Stiffness of drawn profiles, the ones used last at the end."""

    def __init__(self, generator):
        self.generator = generator
        self._drawn = OrderedDict()

    def stiffness(self, key):
        if key in self._drawn:
            self._drawn.move_to_end(key)
            return self._drawn[key]
        pitch, weight = key
        walls = torch.rand(2 * RINGS, RINGS, generator=self.generator, device=DEVICE)
        walls.mul_(weight / 1000.0).add_(pitch / 400.0)
        self._drawn[key] = walls
        while len(self._drawn) > PROFILE_LIMIT:
            self._drawn.popitem(last=False)
        return walls


class Acoustics:
    """Spectra of bells by profile and tuning."""

    def __init__(self, library):
        self.library = library
        self.axis = torch.linspace(0.2, 8.0, FREQUENCIES, device=DEVICE)
        self.modes = torch.tensor([0.5, 1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0], device=DEVICE)
        self._spectra = {}
        self.computed = 0

    def _compute(self, profile, tuning):
        walls = self.library.stiffness(profile)
        blocks = walls.view(len(self.modes), -1)
        bend = blocks.std(dim=1) / blocks.mean(dim=1)
        spectrum = torch.zeros_like(self.axis)
        for mode, shift in zip(self.modes, bend):
            centre = mode * (1.0 + 0.02 * shift + tuning)
            spectrum += 1.0 / (1.0 + ((self.axis - centre) / 0.01) ** 2)
        self.computed += 1
        return spectrum

    def spectrum(self, profile, tuning):
        key = (profile, tuning)
        if key not in self._spectra:
            self._spectra[key] = self._compute(profile, tuning)
            if len(self._spectra) > SPECTRA_LIMIT:
                del self._spectra[next(iter(self._spectra))]
        return self._spectra[key]


class DesignOffice:
    """Takes requests, tunes the drawing and writes the quote."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        generator = torch.Generator(device=DEVICE)
        generator.manual_seed(seed)
        self.acoustics = Acoustics(ProfileLibrary(generator))
        self.ideal = self.acoustics._compute((400.0, 1000.0), 0.0)
        self.quotes = 0
        self.purity = 0.0

    def request(self):
        pitch = round(self.rng.uniform(200.0, 900.0), 3)
        weight = round(self.rng.uniform(60.0, 4000.0), 2)
        return pitch, weight

    def draw(self, profile, tuning):
        spectrum = self.acoustics.spectrum(profile, tuning)
        return float(torch.dot(spectrum, self.ideal) / (spectrum.norm() * self.ideal.norm()))

    def quote(self, profile, tuning):
        strongest = int(self.acoustics.spectrum(profile, tuning).argmax())
        hum = 0.2 + 7.8 * strongest / FREQUENCIES
        self.quotes += 1
        return profile[1] * 31.0 + 400.0 * hum


def main():
    office = DesignOffice(seed=1570)
    started = time.monotonic()
    next_report = started + 3.0
    volume = 0.0
    while time.monotonic() - started < SECONDS:
        began = time.monotonic()
        profile = office.request()
        tuning = round(office.rng.uniform(-0.03, 0.03), 4)
        office.purity += 0.1 * (office.draw(profile, tuning) - office.purity)
        volume += office.quote(profile, tuning)
        if began >= next_report:
            print(
                f"{office.quotes:4d} quotes  {volume / office.quotes:9.0f} each  "
                f"purity {office.purity:.3f}",
                flush=True,
            )
            next_report += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - began)))
    print(f"office closed: {office.quotes} quotes, {office.acoustics.computed} spectra worked out", flush=True)


if __name__ == "__main__":
    main()
