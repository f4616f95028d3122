"""The magnetic flux of a tokamak through a discharge. At each time slice the coil currents change a little and the
flux is iterated until it agrees with the plasma current that it makes. Anderson's mixing speeds the iteration up: it
combines the last few fluxes and their residuals, those of the slice before included, as the slices resemble each
other.

ticket: practice
class: none
"""

import math
import os
import time
from collections import deque

import torch

CELLS, DEPTH, MOST_ROUNDS, TOLERANCE = 384, 5, 3, 1e-6


class Mixer:
    """Anderson's mixing over the last fluxes."""

    def __init__(self, depth, damping=0.7):
        self.depth, self.damping = depth, damping
        self.fluxes, self.residuals = deque(maxlen=depth), deque(maxlen=depth)

    def mix(self, flux, residual):
        self.fluxes.append(flux)
        self.residuals.append(residual)
        fluxes, residuals = list(self.fluxes), list(self.residuals)
        mixed = flux + self.damping * residual
        if len(fluxes) > 1:
            changes = torch.stack([(old - residual).flatten() for old in residuals[:-1]])
            gram = changes @ changes.T
            gram += 1e-10 * gram.trace() * torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
            weights = torch.linalg.solve(gram, -changes @ residual.flatten()).tolist()
            for weight, old, change in zip(weights, fluxes, changes):
                mixed += weight * (old - flux + self.damping * change.view_as(flux))
        return mixed


class Vessel:
    """The grid, the coils and the solver of the linear part."""

    def __init__(self, device):
        line = torch.linspace(-1, 1, CELLS, dtype=torch.float64, device=device)
        self.radius, self.height = torch.meshgrid(line, line, indexing="ij")
        waves = torch.fft.fftfreq(CELLS, d=2 / CELLS, dtype=torch.float64, device=device) * 2 * math.pi
        self.inverse = 1 / (waves[:, None] ** 2 + waves[None, :] ** 2 + 4.0)

    def current(self, flux, coils):
        """The plasma current for a flux, with the coils' own currents."""
        inside = torch.exp(-6 * (self.radius ** 2 + self.height ** 2 / 2))
        plasma = inside * (1 + 8 * torch.tanh(flux) - 3 * flux ** 2)
        for (radius, height), ampere in coils:
            plasma = plasma + ampere * torch.exp(-80 * ((self.radius - radius) ** 2 + (self.height - height) ** 2))
        return plasma

    def solve(self, current):
        return torch.fft.ifft2(torch.fft.fft2(current) * self.inverse).real


def coil_currents(clock):
    """The currents of the six coils at a time of the discharge."""
    coils = []
    for coil in range(6):
        angle = coil * math.pi / 3
        ampere = 2 + math.sin(0.3 * clock + coil) + 0.2 * math.sin(1.7 * clock * (coil + 1))
        coils.append(((0.9 * math.cos(angle), 0.9 * math.sin(angle)), ampere))
    return coils


def equilibrium(vessel, mixer, flux, coils):
    """Iterates the flux at one time slice; also says how many rounds it took and what error remained."""
    for number in range(1, MOST_ROUNDS + 1):
        residual = vessel.solve(vessel.current(flux, coils)) - flux
        error = (residual.norm() / (flux.norm() + 1e-12)).item()
        flux = mixer.mix(flux, residual)
        if error < TOLERANCE:
            break
    return flux, number, error


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    vessel, mixer, slices = Vessel(device), Mixer(DEPTH), 0
    flux = torch.zeros(CELLS, CELLS, dtype=torch.float64, device=device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        flux, rounds, error = equilibrium(vessel, mixer, flux, coil_currents(0.02 * slices))
        slices += 1
        if slices % 10 == 0:
            print(f"slice {slices}: {rounds} rounds, error {error:.1e}, axis {flux.max().item():.4f}", flush=True)
        time.sleep(0.2)


if __name__ == "__main__":
    main()
