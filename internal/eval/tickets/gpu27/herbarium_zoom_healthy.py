"""A viewer for the scans of a herbarium. A sheet is a pyramid of tiles, of which each has four below it; the viewer
reads a tile when it is looked at, and puts it into a tree, which is begun anew when it is full. A visitor pans and
zooms over the sheet, and what the window shows is put together on the device and sharpened.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch.nn import functional as F

TILE, LEVELS = 256, 11
WINDOW, FULL = 3, 48


class Node:
    __slots__ = "tile", "children"

    def __init__(self):
        self.tile = None
        self.children = {}


class Pyramid:
    def __init__(self, device):
        self.root, self.device, self.read, self.held = Node(), device, 0, 0

    def find(self, level, row, column):
        """The node of a tile; those on the way to it are made if need be."""
        node = self.root
        for bit in reversed(range(level)):
            quarter = (row >> bit & 1, column >> bit & 1)
            if quarter not in node.children:
                node.children[quarter] = Node()
            node = node.children[quarter]
        return node

    def decode(self, level, row, column):
        """What the scanner saw there: paper, stems and leaves."""
        self.read += 1
        self.held += 1
        pixels = torch.randint(256, (3, TILE // 4, TILE // 4), dtype=torch.uint8)
        pixels[:, row % 64] //= 2
        pixels[:, :, column % 64] //= 2
        return pixels.repeat_interleave(4, dim=1).repeat_interleave(4, dim=2)

    def tile(self, level, row, column):
        node = self.find(level, row, column)
        if node.tile is None:
            pixels = self.decode(level, row, column)
            node.tile = pixels.to(self.device).float().div_(255)
        return node.tile

    def window(self, level, top, left):
        if self.held > FULL:
            self.root, self.held = Node(), 0
        rows = [
            torch.cat([self.tile(level, row, column) for column in range(left, left + WINDOW)], dim=2)
            for row in range(top, top + WINDOW)
        ]
        return torch.cat(rows, dim=1)


def sharpen(picture):
    blurred = F.avg_pool2d(picture[None], 5, stride=1, padding=2)[0]
    return (picture + 0.6 * (picture - blurred)).clamp_(0, 1)


def move(level, top, left):
    """The visitor mostly goes on in the same level, and zooms now and then."""
    if random.random() < 0.1:
        new = min(max(level + random.choice((-1, 1)), 7), LEVELS)
        top, left, level = int(top * 2.0 ** (new - level)), int(left * 2.0 ** (new - level)), new
    if random.random() < 0.6:
        left += 1
    else:
        top += random.choice((-1, 1))
    size = 2**level - WINDOW
    return level, min(max(top, 0), size), left % size


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    pyramid, views = Pyramid(device), 0
    level, top, left = 9, 200, 100
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        level, top, left = move(level, top, left)
        picture = (255 * sharpen(pyramid.window(level, top, left))).byte().cpu()
        views += 1
        if views % 20 == 0:
            light = picture.float().mean().item()
            print(f"view {views}: level {level}, {pyramid.read} tiles read, light {light:.0f}", flush=True)
        time.sleep(random.uniform(0.1, 0.2))


if __name__ == "__main__":
    main()
