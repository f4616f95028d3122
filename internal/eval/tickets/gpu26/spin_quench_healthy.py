"""A magnet is quenched again and again: a large Ising lattice starts hot, and is cooled by Metropolis sweeps on the
two colours of a checkerboard. Snapshots of the spins go as pickled records into one packed trajectory file, from
which the growth of the domains is measured later; a reader just unpickles them one after the other.

ticket: practice
class: none
"""

import gzip
import os
import pickle
import tempfile
import time

import torch

SIDE, SWEEPS, QUENCH = 1024, 4, 60
HOT, COLD = 4.0, 1.2


class Trajectory:
    """Pickled records, one behind the other, in a packed file."""

    def __init__(self):
        self.file = gzip.open(tempfile.TemporaryFile(), "wb", compresslevel=1)
        self.pickler = pickle.Pickler(self.file, protocol=pickle.HIGHEST_PROTOCOL)

    def write(self, quench, temperature, spins):
        frame = spins.to(torch.int8).cpu().numpy()
        record = {"quench": quench, "temperature": temperature, "spins": frame}
        self.pickler.dump(record)
        self.pickler.clear_memo()

    def close(self):
        self.file.close()


class Lattice:
    def __init__(self, device):
        row = torch.arange(SIDE, device=device)
        self.black = (row[:, None] + row[None]) % 2 == 0
        self.device = device
        self.heat()

    def heat(self):
        """All spins at random."""
        self.spins = torch.randint(0, 2, (SIDE, SIDE), device=self.device).float() * 2 - 1

    def field(self):
        spins = self.spins
        return spins.roll(1, 0) + spins.roll(-1, 0) + spins.roll(1, 1) + spins.roll(-1, 1)

    def sweep(self, temperature):
        """Metropolis on the black spins, then on the white ones."""
        for colour in self.black, ~self.black:
            cost = 2 * self.spins * self.field()
            flip = colour & (torch.rand_like(cost) < torch.exp(-cost / temperature))
            self.spins = torch.where(flip, -self.spins, self.spins)

    def energy(self):
        return -0.5 * (self.spins * self.field()).mean().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    lattice, trajectory, rounds = Lattice(device), Trajectory(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        quench, moment = divmod(rounds, QUENCH)
        if moment == 0:
            lattice.heat()
        temperature = max(COLD, HOT - (HOT - COLD) * moment / 10)
        for _ in range(SWEEPS):
            lattice.sweep(temperature)
        trajectory.write(quench, temperature, lattice.spins)
        rounds += 1
        if rounds % 20 == 0:
            energy = lattice.energy()
            print(f"quench {quench}: T {temperature:.2f}, energy {energy:.3f}, {rounds} records", flush=True)
        time.sleep(0.08)
    trajectory.close()


if __name__ == "__main__":
    main()
