"""Small molecules are docked into the pocket of a protein: many poses of each are tried, and moved downhill by a few
steps. Molecules are handed to a few worker threads; one loop hands out new ones and looks through those handed out for
any that have become ready, to take their best pose into the list of hits.

ticket: practice
class: app-leak
holder: submitted
cause: results-kept
"""

import concurrent.futures
import os
import random
import time

import torch

POSES, POCKET, STEPS, HITS = 3072, 40, 3, 20


def rotations(count, device):
    """Turns in space, evenly drawn."""
    w, x, y, z = torch.nn.functional.normalize(torch.randn(4, count, device=device), dim=0)
    return torch.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
                        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1).view(count, 3, 3)


class Ligand:
    def __init__(self, number):
        self.name, self.atoms = f"ZINC{number:08d}", random.choice((16, 20, 24))
        steps = torch.nn.functional.normalize(torch.randn(self.atoms, 3), dim=1)
        self.shape = (1.5 * steps).cumsum(0)
        self.shape -= self.shape.mean(0)


class Dock:
    def __init__(self, device):
        self.device = device
        self.pocket = 6 * torch.nn.functional.normalize(torch.randn(POCKET, 3, device=device), dim=1)
        self.pool = concurrent.futures.ThreadPoolExecutor(2)
        self.submitted, self.reported, self.hits = [], set(), []

    def forces(self, atoms):
        """The energy of each pose, and where its atoms are drawn."""
        apart = atoms[:, :, None] - self.pocket
        near = (apart.square().sum(-1) + 0.5).rsqrt()
        attraction, repulsion = near ** 3, 30 * near ** 6
        pull = ((12 * repulsion - 3 * attraction) * near * near)[..., None]
        return (repulsion - attraction).sum((1, 2)), (pull * apart).sum(2).clamp(-1, 1)

    @torch.no_grad()
    def dock(self, ligand):
        shape = ligand.shape.to(self.device)
        poses = torch.einsum("pij,aj->pai", rotations(POSES, self.device), shape)
        poses = poses + torch.randn(POSES, 1, 3, device=self.device)
        for _ in range(STEPS):
            energy, force = self.forces(poses)
            poses = poses + 0.2 * force.mean(1, keepdim=True)  # grows
            time.sleep(random.uniform(0.01, 0.05))
        return ligand.name, energy, poses

    def submit(self, ligand):
        self.submitted.append(self.pool.submit(self.dock, ligand))  # keeps

    def waiting(self):
        return sum(not future.done() for future in self.submitted)

    def gather(self):
        """Takes what is ready into the hits."""
        for place, future in enumerate(self.submitted):
            if place in self.reported or not future.done():
                continue
            name, energy, poses = future.result()
            best = int(energy.argmin())
            self.hits = sorted(self.hits + [(float(energy[best]), name, poses[best].tolist())])[:HITS]
            self.reported.add(place)


def main():
    torch.set_num_threads(1)
    dock = Dock("cuda" if torch.cuda.is_available() else "cpu")
    number, end = 0, time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        while dock.waiting() < 4:
            number += 1
            dock.submit(Ligand(number))
        dock.gather()
        if dock.hits and random.random() < 0.05:
            print("molecule", number, "best", dock.hits[0][1], round(dock.hits[0][0], 3), flush=True)
        time.sleep(random.uniform(0.05, 0.25))
    dock.pool.shutdown()
    dock.gather()
    print(number, "molecules, the best:", [name for _, name, _ in dock.hits[:5]])


if __name__ == "__main__":
    main()
