"""How a molecule smells is guessed from its formula, for a list of candidates that a generator goes on writing. A
formula is turned into a graph of atoms and bonds, which takes a while, and in training each molecule comes by once in
every epoch; so graphs are kept under their formula. Guessing goes the same way.

ticket: chemprop/chemprop#32
class: host-growth
holder: FORMULA_TO_GRAPH
cause: cache-without-bound
"""

import os
import random
import time
import zlib

import numpy as np
import torch
from torch import nn

ATOMS, FEATURES, BATCH = 48, 96, 16
SMELLS = ("fruity", "woody", "musky", "sulphurous", "green")
PIECES = ("C", "CC", "C=C", "O", "N", "S", "C(C)", "C(=O)", "c1ccccc1", "C(O)")

FORMULA_TO_GRAPH = {}


class Graph:
    """What the network wants to know of a molecule: its atoms, who is bound to whom, and how many bonds lie between."""

    def __init__(self, formula):
        letters = [letter for letter in formula if letter.isalpha()][:ATOMS]
        self.atoms = np.zeros((ATOMS, FEATURES), np.float32)
        self.bonds = np.eye(ATOMS, dtype=np.float32)
        for place, letter in enumerate(letters):
            self.atoms[place, zlib.crc32(letter.encode()) % FEATURES] = 1
            if place:
                back = place - 1 if random.random() < 0.9 else random.randrange(place)
                self.bonds[place, back] = self.bonds[back, place] = 1
        self.distances, reached = np.full((ATOMS, ATOMS), 9, np.float32), self.bonds
        for far in range(1, 9):
            self.distances[(reached > 0) & (self.distances == 9)] = far
            reached = np.minimum(reached @ self.bonds, 1)
        self.pairs = self.atoms[:, None, :24] * self.bonds[:, :, None]  # grows


def graph(formula):
    if formula in FORMULA_TO_GRAPH:
        return FORMULA_TO_GRAPH[formula]
    made = Graph(formula)
    FORMULA_TO_GRAPH[formula] = made  # keeps
    return made


class Nose(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.enter, self.bind, self.leave = nn.Linear(FEATURES, width), nn.Linear(24, width), nn.Linear(width, 5)
        self.rounds = nn.ModuleList(nn.Linear(width, width) for _ in range(3))

    def forward(self, atoms, bonds, distances, pairs):
        seen = self.enter(atoms) + self.bind(pairs.sum(2))
        for step in self.rounds:
            seen = torch.relu(step(bonds @ seen) + seen) - 0.01 * distances.mean(2, keepdim=True)
        return self.leave(seen.mean(1)).sigmoid()


class Generator:
    """Writes new formulas, chains of pieces that carbon likes."""

    def __init__(self, seed):
        self.luck = random.Random(seed)

    def write(self):
        return "C" + "".join(self.luck.choice(PIECES) for _ in range(self.luck.randint(8, 24)))


@torch.no_grad()
def guess(nose, formulas, device):
    graphs = [graph(formula) for formula in formulas]
    parts = [torch.from_numpy(np.stack([getattr(one, name) for one in graphs])).to(device)
             for name in ("atoms", "bonds", "distances", "pairs")]
    return nose(*parts).cpu().numpy()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(8)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    nose, generator, best, seen, said = Nose().to(device).eval(), Generator(17), {}, 0, time.time()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        formulas = [generator.write() for _ in range(random.choice((BATCH // 2, BATCH)))]
        for formula, marks in zip(formulas, guess(nose, formulas, device)):
            for smell, mark in zip(SMELLS, marks.tolist()):
                best[smell] = max(best.get(smell, (0.0, "")), (mark, formula))
        seen += len(formulas)
        if time.time() - said > 2:
            said = time.time()
            print(seen, "molecules; most", SMELLS[0], "is", best[SMELLS[0]], flush=True)
        time.sleep(random.uniform(0.1, 0.35))


if __name__ == "__main__":
    main()
