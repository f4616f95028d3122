"""Local energies of small neon droplets, by variational Monte Carlo. The trial wave function is a McMillan product over
pairs. Walkers move by Metropolis steps; every few moves the local energy of each batch of walkers is measured. The
Laplacian of log psi is estimated with random probes (Hutchinson), as the exact one would be slow for this many atoms.

ticket: pytorch/pytorch#7343
class: none
"""

import math
import os
import time
import warnings

import torch

warnings.filterwarnings("ignore", category=UserWarning)
torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

ATOMS = 32
WALKERS = 48
PROBES = 3
MOVES = 6               # Metropolis moves between two measurements
B = 2.7                 # McMillan's parameter, Angstrom
STEP = 0.06             # Angstrom
HBAR2_2M = 1.20         # K Angstrom^2, for neon
EPSILON, SIGMA = 36.7, 2.79

FAR = 1e6 * torch.eye(ATOMS, device=DEVICE)     # takes an atom out of its own reach


def distances(r):
    """All pair distances of each walker; r is (walkers, atoms, 3)."""
    separation = r[:, :, None, :] - r[:, None, :, :]
    return (separation.pow(2).sum(-1) + FAR).sqrt()


def log_psi(r):
    pairs = (B / distances(r)).pow(5)
    confinement = 0.002 * r.pow(2).sum(dim=(1, 2))
    return -0.25 * pairs.sum(dim=(1, 2)) - confinement


def potential(r):
    s6 = (SIGMA / distances(r)).pow(6)
    return 2 * EPSILON * (s6 * s6 - s6).sum(dim=(1, 2))


def lattice():
    """A start without overlaps: atoms on a cubic lattice, 3.2 Angstrom apart, slightly shaken."""
    side = math.ceil(ATOMS ** (1 / 3))
    axis = torch.arange(side, device=DEVICE) * 3.2
    sites = torch.cartesian_prod(axis, axis, axis)[:ATOMS]
    sites = sites - sites.mean(0)
    return sites + 0.05 * torch.randn(WALKERS, ATOMS, 3, device=DEVICE)


@torch.no_grad()
def metropolis(r):
    proposal = r + STEP * torch.randn_like(r)
    ratio = 2 * (log_psi(proposal) - log_psi(r))
    accept = torch.rand(WALKERS, device=DEVICE).log() < ratio
    return torch.where(accept[:, None, None], proposal, r), accept.float().mean().item()


def local_energy(walkers):
    """Kinetic and potential energy of each walker, in kelvin."""
    r = walkers.clone().requires_grad_()
    amplitude = log_psi(r)
    drift, = torch.autograd.grad(amplitude.sum(), r, create_graph=True)
    laplacian = torch.zeros(WALKERS, device=DEVICE)
    for _ in range(PROBES):
        probe = torch.randint(2, r.shape, device=DEVICE).float() * 2 - 1
        curvature, = torch.autograd.grad(drift, r, probe, retain_graph=True)
        laplacian += (curvature * probe).sum(dim=(1, 2)) / PROBES
    kinetic = -HBAR2_2M * (laplacian + drift.detach().pow(2).sum(dim=(1, 2)))
    return kinetic, potential(walkers)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    walkers, measurements = lattice(), 0
    total = total_squared = 0.0
    while time.time() < end:
        for _ in range(MOVES):
            walkers, acceptance = metropolis(walkers)
        kinetic, pot = local_energy(walkers)
        energy = (kinetic + pot).mean().item() / ATOMS
        measurements += 1
        total += energy
        total_squared += energy * energy
        if measurements % 25 == 0:
            mean = total / measurements
            error = math.sqrt(max(total_squared / measurements - mean * mean, 0.0) / measurements)
            print(f"{measurements:5d}  E/N = {mean:9.3f} +- {error:.3f} K   acceptance {acceptance:.2f}", flush=True)
        time.sleep(0.12)


if __name__ == "__main__":
    main()
