"""Growth forecast for the floating trees of a coral nursery.

Fragments of coral hang from the arms of a floating tree until they are large enough for the reef. A diver's camera
passes one tree after another; for every pass a colony is drawn up with its branches, the tissue of the branches is
grown some days ahead in the light that the colony gets, and the tree's outplanting date is set by the result.

ticket: practice
class: app-leak
holder: colony branches
cause: reference-cycle
"""
import gc
import os
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
PATCH = 256
BRANCHES = 4
DAYS_AHEAD = 5
PASSES_PER_SECOND = 6
TREES = 9


class Colony:
    """One fragment on an arm: its light, its genotype and its branches."""

    def __init__(self, tree, light, vigour):
        self.tree = tree
        self.light = light
        self.vigour = vigour
        self.branches = []

    def sprout(self, tissue):
        self.branches.append(Branch(self, len(self.branches), tissue))
        return self.branches[-1]

    def shade_on(self, order):
        """Light that is left below the branches above."""
        return self.light * 0.85 ** order

    def cover(self):
        return sum(float(branch.tissue.mean()) for branch in self.branches) / len(self.branches)


class Branch:
    """Tissue of one branch on a grid of its surface; grows with the light that the colony leaves to it."""

    def __init__(self, colony, order, tissue):
        self.colony = colony  # keeps
        self.order = order
        self.tissue = tissue

    def grow(self, days):
        light = self.colony.shade_on(self.order)
        rate = 0.08 * self.colony.vigour * light / (light + 120.0)
        for _ in range(days):
            spread = (self.tissue.roll(1, 0) + self.tissue.roll(1, 1)) * 0.5
            self.tissue.lerp_(spread, 0.2)
            self.tissue.add_(rate * self.tissue * (1.0 - self.tissue)).clamp_(0.0, 1.0)


class DiveCamera:
    """Synthetic passes along the trees."""

    def __init__(self, seed):
        self._generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self._vigour = torch.Generator().manual_seed(seed + 1)

    def tissue(self):
        return torch.rand(PATCH, PATCH, generator=self._generator, device=DEVICE)  # grows

    def film(self, tree):
        vigour = 0.7 + 0.6 * float(torch.rand(1, generator=self._vigour))
        colony = Colony(tree, light=180.0 + 15.0 * tree, vigour=vigour)
        for _ in range(BRANCHES):
            colony.sprout(self.tissue())
        return colony


class Calendar:
    """Days until outplanting for each tree, smoothed over the passes."""

    def __init__(self):
        self.days = [60.0] * TREES

    def update(self, colony):
        due = 60.0 * max(0.0, 1.0 - colony.cover())
        self.days[colony.tree] += 0.2 * (due - self.days[colony.tree])

    def next_tree(self):
        return min(range(TREES), key=self.days.__getitem__)


def forecast(colony):
    for branch in colony.branches:
        branch.grow(DAYS_AHEAD)


def main():
    torch.set_num_threads(1)
    seconds = float(os.environ.get("SECONDS", "120"))
    camera = DiveCamera(seed=64)
    calendar = Calendar()

    # The feed pumps share this process and want even ticks.
    gc.collect()
    gc.disable()

    start = time.monotonic()
    next_line = start + 3.0
    passes = 0
    while time.monotonic() - start < seconds:
        colony = camera.film(passes % TREES)
        forecast(colony)
        calendar.update(colony)
        passes += 1
        if time.monotonic() >= next_line:
            tree = calendar.next_tree()
            print(f"pass {passes}: tree {tree} is next, in {calendar.days[tree]:.1f} days", flush=True)
            next_line += 3.0
        time.sleep(max(0.0, start + passes / PASSES_PER_SECOND - time.monotonic()))
    print(f"filmed {passes} passes of {TREES} trees", flush=True)


if __name__ == "__main__":
    main()
