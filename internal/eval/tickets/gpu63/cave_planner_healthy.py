"""Plans the way of a small drone through a cave. From where it is, a tree of manoeuvres is grown: each node holds the
part of the map that would be seen from there, and how much of it is unknown. The drone flies the first manoeuvre of
the best branch and plans anew. The garbage collector is off, so that no pause disturbs the flight.

ticket: practice
class: none
"""

import gc
import os
import time
import weakref

import torch
from torch.nn import functional as F

CAVE, VIEW, DEPTH = 1024, 176, 3
HEADINGS = (-0.5, 0.0, 0.5)


class Node:
    """A pose that the drone might reach, and what it would see there."""

    def __init__(self, x, y, heading, view, parent=None):
        self.x, self.y, self.heading = x, y, heading
        self.view = view
        self.parent = weakref.proxy(parent) if parent is not None else None
        self.children = []
        self.gain = view[1].mean().item()
        if parent is not None:
            parent.children.append(self)

    def branch_gain(self):
        """What is gained on the way from the root to here, the early part counting more."""
        before = self.parent.branch_gain() if self.parent is not None else 0.0
        return 0.9 * before + self.gain

    def count(self):
        return 1 + sum(child.count() for child in self.children)


class Cave:
    """A map of two layers: how surely a cell is rock, and how unknown it still is."""

    def __init__(self, device):
        noise = torch.rand(1, 1, CAVE // 32, CAVE // 32, device=device)
        rock = F.interpolate(noise, size=(CAVE, CAVE), mode="bilinear", align_corners=False)
        self.layers = torch.cat([rock, torch.ones_like(rock)], dim=1)
        steps = torch.linspace(-1.0, 1.0, VIEW, device=device) * VIEW / CAVE
        self.offsets = torch.stack(torch.meshgrid(steps, steps, indexing="xy"), dim=-1)

    def look(self, x, y, heading):
        c, s = torch.cos(torch.tensor(heading)).item(), torch.sin(torch.tensor(heading)).item()
        turn = self.offsets.new_tensor([[c, -s], [s, c]])
        grid = self.offsets @ turn + self.offsets.new_tensor([x, y])
        return F.grid_sample(self.layers, grid[None], padding_mode="reflection", align_corners=False)[0]

    def explore(self, x, y):
        column, row = (int((value + 1.0) / 2.0 * (CAVE - 64)) for value in (x, y))
        self.layers[0, 1, row:row + 64, column:column + 64] *= 0.8
        self.layers[0, 1].mul_(0.999).add_(0.001)


def grow(cave, x, y, heading):
    """Grows the tree of manoeuvres; returns its root and its leaves."""
    root = Node(x, y, heading, cave.look(x, y, heading))
    level = [root]
    for _ in range(DEPTH):
        following = []
        for node in level:
            for turn in HEADINGS:
                angle = node.heading + turn
                x = min(0.95, max(-0.95, node.x + 0.05 * torch.cos(torch.tensor(angle)).item()))
                y = min(0.95, max(-0.95, node.y + 0.05 * torch.sin(torch.tensor(angle)).item()))
                following.append(Node(x, y, angle, cave.look(x, y, angle), node))
        level = following
    return root, level


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    gc.disable()
    cave = Cave("cuda" if torch.cuda.is_available() else "cpu")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    x = y = heading = 0.0
    plans = 0
    while time.time() < end:
        root, leaves = grow(cave, x, y, heading)
        best = max(leaves, key=Node.branch_gain)
        while best.parent.parent is not None:
            best = best.parent
        x, y, heading = best.x, best.y, best.heading
        cave.explore(x, y)
        plans += 1
        if plans % 10 == 0:
            print(f"plan {plans}: {root.count()} nodes, at {x:.2f} {y:.2f}, gain {best.gain:.3f}", flush=True)
        time.sleep(0.4)


if __name__ == "__main__":
    main()
