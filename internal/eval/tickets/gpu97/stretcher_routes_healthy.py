"""Routes for a stretcher out of a cave.

A rescue team has to carry a casualty from a deep chamber to the entrance. For each report from
below the cave is laid out anew as a tree of chambers, each with a cross-section of the passage that
leads to it. The carry times of all ways down are compared and the best camp for the handover is
sent to the surface.

ticket: practice
class: none
"""
import gc
import os
import random
import time
import weakref

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
SECTION = 192
CHAMBERS = 12
ROUNDS_PER_SECOND = 6


class Chamber:
    """A chamber and the passage that leads to it from the side of the entrance."""

    def __init__(self, name, parent, section, metres):
        self.name = name
        self.section = section
        self.metres = metres
        self.branches = []
        self.parent = weakref.ref(parent) if parent is not None else None
        if parent is not None:
            parent.branches.append(self)

    def way_out(self):
        """The chambers from here to the entrance, this one first."""
        chamber = self
        while chamber is not None:
            yield chamber
            chamber = chamber.parent() if chamber.parent is not None else None

    def deepest(self):
        best, stack = (0, self), [(0, self)]
        while stack:
            depth, chamber = stack.pop()
            if depth > best[0]:
                best = (depth, chamber)
            stack.extend((depth + 1, branch) for branch in chamber.branches)
        return best[1]


class Surveyor:
    """Lays the cave out from what the teams below report."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.noise = torch.Generator().manual_seed(seed)
        across = torch.linspace(-1.0, 1.0, SECTION)
        self.radius = torch.sqrt(across[:, None] ** 2 + across[None, :] ** 2).to(DEVICE)

    def cross_section(self):
        width = 0.4 + 0.5 * float(torch.rand((), generator=self.noise))
        return torch.sigmoid((width - self.radius) * 12.0)

    def lay_out(self):
        entrance = Chamber("entrance", None, self.cross_section(), 0.0)
        known = [entrance]
        for number in range(1, CHAMBERS):
            parent = self.dice.choice(known[-4:])
            metres = self.dice.uniform(8.0, 60.0)
            known.append(Chamber(f"chamber {number}", parent, self.cross_section(), metres))
        return entrance


class Coordinator:
    def __init__(self, surveyor):
        self.surveyor = surveyor
        self.plans = 0
        self.mean_minutes = 0.0

    @staticmethod
    def carry_minutes(chamber):
        room = float(chamber.section.mean())
        return chamber.metres * (0.3 + 1.2 * (1.0 - room))

    def plan(self):
        """Minutes from the deepest chamber to the entrance, and where to hand over."""
        cave = self.surveyor.lay_out()
        casualty = cave.deepest()
        legs = [(chamber.name, self.carry_minutes(chamber)) for chamber in casualty.way_out()]
        total = sum(minutes for _, minutes in legs)
        carried, camp = 0.0, legs[0][0]
        for name, minutes in legs:
            carried += minutes
            camp = name
            if carried >= total / 2:
                break
        self.plans += 1
        self.mean_minutes += (total - self.mean_minutes) / self.plans
        return total, camp


def main():
    coordinator = Coordinator(Surveyor(seed=1909))
    # The radio slots are short, so the pace of the plans has to be even.
    gc.collect()
    gc.freeze()
    gc.disable()
    start = time.monotonic()
    next_line = start + 3.0
    while time.monotonic() - start < SECONDS:
        minutes, camp = coordinator.plan()
        if time.monotonic() >= next_line:
            next_line += 3.0
            print(f"plan {coordinator.plans}: {minutes:.0f} min, hand over at {camp}", flush=True)
        time.sleep(1.0 / ROUNDS_PER_SECOND)
    print(f"stood down after {coordinator.plans} plans, mean carry {coordinator.mean_minutes:.0f} min", flush=True)


if __name__ == "__main__":
    main()
