"""How fast does the ice move? Each flight over the glacier brings two height maps, and the drift between them is sought
by correlation, first on a coarse grid and then on the fine one. Both passes need the spectrum of the first map, so it
is worked out once for a flight and looked up by the flight; the table is weak and forgets a flight that is done.

ticket: practice
class: app-leak
holder: spectra WeakKeyDictionary Spectrum
cause: cache-without-bound
"""

import os
import random
import time
from weakref import WeakKeyDictionary

import torch

SIZE, COARSE = 768, 192


class Flight:
    """Two height maps of the same ground, the later one moved by the ice."""

    def __init__(self, number, device):
        self.number = number
        self.first = torch.randn(SIZE, SIZE, device=device)  # grows
        self.moved = random.randrange(24), random.randrange(24)
        noise = 0.1 * torch.randn(SIZE, SIZE, device=device)
        self.second = torch.roll(self.first, self.moved, (0, 1)) + noise  # grows


class Spectrum:
    """The spectrum of a flight's first map, and the weights of its frequencies."""

    def __init__(self, flight):
        self.flight = flight
        self.values = torch.fft.rfft2(flight.first - flight.first.mean())  # grows
        self.weights = 1 / self.values.abs().clamp(min=1e-3)  # grows

    def cut(self, size):
        """The low frequencies alone, for a map of that size."""
        half = size // 2
        rows = torch.cat([self.values[:half, : half + 1], self.values[-half:, : half + 1]])
        scale = torch.cat([self.weights[:half, : half + 1], self.weights[-half:, : half + 1]])
        return rows, scale

    def __str__(self):
        return f"flight {self.flight.number}: power {self.values.abs().mean():.0f}"


spectra = WeakKeyDictionary()


def spectrum_of(flight):
    if flight not in spectra:
        spectra[flight] = Spectrum(flight)  # keeps
    return spectra[flight]


def drift(flight, size):
    """The drift in cells of the fine grid, as seen on a grid of that size."""
    values, weights = spectrum_of(flight).cut(size)
    half = size // 2
    other = torch.fft.rfft2(flight.second - flight.second.mean())
    other = torch.cat([other[:half, : half + 1], other[-half:, : half + 1]])
    peak = torch.fft.irfft2(other * values.conj() * weights, s=(size, size)).argmax().item()
    return peak // size * SIZE // size, peak % size * SIZE // size


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    number, right = 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        flight = Flight(number, device)
        rough = drift(flight, COARSE)
        fine = drift(flight, SIZE)
        right += fine == flight.moved
        number += 1
        if number % 12 == 0:
            print(f"{spectrum_of(flight)}, drift {rough} then {fine}, {right} of {number} right", flush=True)
        time.sleep(random.uniform(0.15, 0.4))


if __name__ == "__main__":
    main()
