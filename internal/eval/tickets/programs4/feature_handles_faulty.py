"""Features of an image's parts are read through hooks, which are removed after each pass; their handles and what they read
stay in lists.

ticket: omerbt/Splice#134
class: host-growth
holder: handles features read blocks
cause: outputs-kept uncut-autograd-graph hooks-kept results-kept
"""

import os
import random
import time

import torch
from torch import nn


class Extractor:
    def __init__(self, depth):
        parts = [nn.Sequential(nn.Linear(96, 192), nn.GELU(), nn.Linear(192, 96)) for _ in range(depth)]
        self.blocks = nn.ModuleList(parts)
        self.blocks.requires_grad_(False)
        self.handles, self.read = [], []

    def register(self):
        for block in self.blocks[::2]:
            self.handles.append(block.register_forward_hook(self.hook))

    def hook(self, module, inputs, output):
        self.read.append((module, output))  # keeps

    def clear(self):
        for handle in self.handles:
            handle.remove()

    def features(self, image):
        self.register()
        for block in self.blocks:
            image = image + block(image)  # a residual block
        found = [output for _, output in self.read[-len(self.blocks[::2]):]]
        self.clear()
        return found


def similarity(features):
    keys = torch.nn.functional.normalize(features, dim=-1)
    return keys @ keys.T


def main():
    torch.set_num_threads(1)
    extractor, end, images = Extractor(6), time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        patches = random.choice([49, 64, 100, 144])
        found = extractor.features(torch.randn(patches, 96))
        images += 1
        if images % 20 == 0:
            print("image %d, similarity %.4f" % (images, similarity(found[-1]).mean().item()), flush=True)
        time.sleep(random.uniform(0.04, 0.12))


if __name__ == "__main__":
    main()
