"""Where should the child dig next, so that the sandcastle stands the tide? A beam search looks a few strokes of the
spade ahead in a small model of sand and water, takes the first stroke of the best plan, and starts again from there.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch.nn import functional as F

SIDE, DEPTH, BEAM, STROKES = 512, 3, 3, 4
KEEP = slice(SIDE // 2 - 40, SIDE // 2 + 40)


class Node:
    """The beach after a stroke, and the beach it was dug from."""

    def __init__(self, heights, parent=None, stroke=None):
        self.heights, self.parent, self.stroke = heights, parent, stroke
        self.score = heights[KEEP, KEEP].mean().item()


class Beach:
    def __init__(self, device):
        self.device, self.tide = device, 0.0
        spread = torch.linspace(-1, 1, SIDE, device=device)
        self.slope = spread[:, None].expand(SIDE, SIDE)
        kernel = torch.tensor([[0.05, 0.1, 0.05], [0.1, 0.4, 0.1], [0.05, 0.1, 0.05]], device=device)
        self.kernel = kernel[None, None]

    def fresh(self):
        heights = 0.2 * self.slope + 0.02 * torch.rand(SIDE, SIDE, device=self.device)
        heights[KEEP, KEEP] += 1
        return heights

    def after(self, heights, stroke):
        """The heights once the spade has moved and the wave has gone."""
        row, column, length = stroke
        dug = heights.clone()
        dug[row:row + 8, column:column + length] -= 0.3
        dug[row + 8:row + 14, column:column + length] += 0.35
        smooth = F.conv2d(F.pad(dug[None, None], (1, 1, 1, 1), mode="replicate"), self.kernel)[0, 0]
        wet = torch.sigmoid(8 * (self.tide - dug))
        return torch.lerp(dug, smooth, 0.1 * wet) + 0.001


class Planner:
    def __init__(self, beach):
        self.beach = beach
        self.root = Node(beach.fresh())

    def strokes(self):
        return [(random.randrange(60, 400), random.randrange(60, 300), random.randrange(40, 160))
                for _ in range(STROKES)]

    def expand(self, node):
        for stroke in self.strokes():
            heights = self.beach.after(node.heights, stroke)
            yield Node(heights, node, stroke)

    def move(self):
        """Takes the first stroke of the best plan."""
        beam = [self.root]
        for _ in range(DEPTH):
            leaves = [leaf for node in beam for leaf in self.expand(node)]
            beam = sorted(leaves, key=lambda leaf: leaf.score, reverse=True)[:BEAM]
        node = beam[0]
        while node.parent is not self.root:
            node = node.parent
        self.root, node.parent = node, None
        return node.stroke


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    beach = Beach(device)
    planner, moves = Planner(beach), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        beach.tide = 0.3 * (moves % 50) / 50
        stroke = planner.move()
        moves += 1
        if moves % 20 == 0:
            print(f"{moves} strokes, last at {stroke[:2]}, the keep stands {planner.root.score:.3f} high", flush=True)
        time.sleep(random.uniform(0.05, 0.15))


if __name__ == "__main__":
    main()
