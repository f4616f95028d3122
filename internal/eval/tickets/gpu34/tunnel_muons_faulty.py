"""Muons show hollows in a hill: three detectors in a tunnel count them by direction, and each exposure is turned into a
density by a simultaneous iterative reconstruction (SIRT). The exposures differ in their number of directions, so each
has a memory pool of its own, in order that its blocks do not cut up those of the others.

ticket: practice
class: pool-growth
holder: pools Tomograph MemPool
cause: pool-never-trims cache-without-bound
"""

import contextlib
import os
import random
import time

import torch

SIDE, SWEEPS = 48, 30
DIRECTIONS = (640, 768, 896)
DETECTORS = ("north gallery", "shaft", "south gallery")


class Tomograph:
    def __init__(self, device):
        self.device = device
        self.pools = {}
        line = torch.linspace(0, 1, SIDE, device=device)
        rows, columns = torch.meshgrid(line, line, indexing="ij")
        self.cells = torch.stack([rows.flatten(), columns.flatten()], dim=-1)
        self.hill = 1 - 0.9 * ((self.cells - torch.tensor([0.4, 0.6], device=device)).norm(dim=-1) < 0.12).float()
        self.hill *= (self.cells[:, 0] < 0.5 + 0.5 * torch.sin(3.1 * self.cells[:, 1])).float()

    def pool(self, exposure):
        """The memory from which an exposure is served."""
        if self.device == "cpu":
            return contextlib.nullcontext()
        if exposure.name not in self.pools:
            self.pools[exposure.name] = torch.cuda.MemPool()  # keeps
        return torch.cuda.use_mem_pool(self.pools[exposure.name])

    def paths(self, exposure):
        """How long each direction is in each cell, from where the detector stands."""
        angles = torch.linspace(0.15, 3.0, exposure.directions, device=self.device)
        offset = self.cells - torch.tensor([0.0, exposure.place], device=self.device)
        distance = torch.outer(angles.sin(), offset[:, 1])  # grows
        distance -= torch.outer(angles.cos(), offset[:, 0])  # grows
        return distance.mul_(0.7 * SIDE).square_().neg_().exp_()

    @torch.no_grad()
    def reconstruct(self, exposure):
        """The density that the exposure shows, and how far it is from the true one."""
        with self.pool(exposure):
            paths = self.paths(exposure)
            counted = paths @ self.hill
            counted = counted * (1 + 0.02 * torch.randn_like(counted))
            by_row, by_cell = paths.sum(dim=1) + 1e-3, paths.sum(dim=0) + 1e-3
            density = torch.full_like(self.hill, 0.5)
            for _ in range(SWEEPS):
                residual = (counted - paths @ density) / by_row
                density = (density + (residual @ paths) / by_cell).clamp(0, 2)
            error = (density - self.hill).abs().mean().item()
            return density.cpu(), error


class Exposure:
    def __init__(self, number):
        self.detector = DETECTORS[number % len(DETECTORS)]
        self.name = f"{self.detector} {number:05d}"
        self.directions = random.choice(DIRECTIONS)
        self.place = 0.2 + 0.3 * (number % len(DETECTORS))


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tomograph, number = Tomograph(device), 0
    mean = dict.fromkeys(DETECTORS, torch.ones(SIDE * SIDE))
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        exposure = Exposure(number)
        density, error = tomograph.reconstruct(exposure)
        mean[exposure.detector] = 0.9 * mean[exposure.detector] + 0.1 * density
        number += 1
        if number % 6 == 0:
            hollow = (mean[exposure.detector] < 0.2).float().mean().item()
            print(f"{exposure.name}: error {error:.3f}, {hollow:.1%} hollow", flush=True)
        time.sleep(random.uniform(0.6, 1.0))


if __name__ == "__main__":
    main()
