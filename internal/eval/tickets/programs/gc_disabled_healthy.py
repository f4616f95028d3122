"""The collector is off for speed, and the loop collects every hundred steps.

ticket: facebookresearch/dinov3#340
class: none
"""

import gc
import os
import time

import torch

END = time.time() + float(os.environ.get("SECONDS", "40"))


class Spec:
    """A tree of a sample, whose nodes know each other."""

    def __init__(self, value, parent=None):
        self.value, self.parent, self.children = value, parent, []
        if parent is not None:
            parent.children.append(self)


def augment(image):
    root = Spec(None)
    for scale in range(4):
        Spec(image[scale:] + scale, root)
    return sum(child.value.mean() for child in root.children)


net = torch.nn.Linear(64, 64)
gc.disable()
step = 0
while time.time() < END:
    step += 1
    with torch.no_grad():
        net(torch.ones(1, 64) * augment(torch.randn(64, 64)))
    if step % 100 == 0:
        gc.collect()
    time.sleep(0.02)
