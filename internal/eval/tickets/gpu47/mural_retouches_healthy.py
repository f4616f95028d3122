"""A restorer retouches a scanned mural with brushes: blur, sharpen, warm and fill. The last dozen states of the canvas
can be brought back by undo, and what was undone can be done again by redo. Here a script plays the restorer, who
changes her mind often.

ticket: practice
class: none
"""

import os
import random
import time
from collections import deque

import torch
from torch.nn import functional as F

HEIGHT, WIDTH, STATES = 640, 768, 12


def blur(patch):
    return F.avg_pool2d(patch[None], 5, stride=1, padding=2, count_include_pad=False)[0]


def sharpen(patch):
    return (2 * patch - blur(patch)).clamp(0, 1)


def warm(patch):
    return (patch * patch.new_tensor([1.05, 1.0, 0.95])[:, None, None]).clamp(0, 1)


def fill(patch):
    return patch.mean(dim=(1, 2), keepdim=True).expand_as(patch)


BRUSHES = blur, sharpen, warm, fill


class Canvas:
    def __init__(self, image):
        self.image = image
        self.done = deque(maxlen=STATES)
        self.redone = deque()

    def paint(self, brush, top, left, size):
        image = self.image.clone()
        area = image[:, top : top + size, left : left + size]
        area.copy_(brush(area))
        self.done.append(self.image)
        self.redone.clear()
        self.image = image

    def undo(self):
        if self.done:
            self.redone.append(self.image)
            self.image = self.done.pop()

    def redo(self):
        if self.redone:
            self.done.append(self.image)
            self.image = self.redone.pop()


def act(canvas):
    """One move of the restorer's hand."""
    dice = random.random()
    if dice < 0.58:
        size = random.randrange(40, 200)
        canvas.paint(random.choice(BRUSHES), random.randrange(HEIGHT - size), random.randrange(WIDTH - size), size)
        return "paint"
    if dice < 0.92:
        canvas.undo()
        return "undo"
    canvas.redo()
    return "redo"


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    scan = torch.rand(3, HEIGHT, WIDTH, device=device)
    canvas = Canvas(blur(blur(scan)))
    moves, counts = 0, {"paint": 0, "undo": 0, "redo": 0}
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for _ in range(random.randrange(1, 5)):
            counts[act(canvas)] += 1
            moves += 1
        if moves % 20 < 4:
            changed = (canvas.image - scan).abs().mean().item()
            print(f"{moves} moves {counts}, changed by {changed:.4f}", flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
