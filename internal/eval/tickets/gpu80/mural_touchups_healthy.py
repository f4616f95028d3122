"""An editor for photographs of old murals. A restorer dabs paint, lifts shadows, sharpens and warms the colours; the
panel lists the last eight revisions, and undo goes back along it. After each step the editor says how much of the
picture has changed since the revision before. Nothing older than the panel can be reached.

ticket: practice
class: none
"""

import os
import random
import time
from collections import deque

import torch
from torch.nn import functional as F

HEIGHT, WIDTH, SHOWN = 640, 960, 8


class Revision:
    def __init__(self, label, picture, parent=None):
        self.label, self.picture, self.parent = label, picture, parent

    def changed(self):
        """The share of the pixels that differ from the revision before."""
        if self.parent is None:
            return 0.0
        return ((self.picture - self.parent.picture).abs().amax(1) > 0.01).float().mean().item()


class History:
    def __init__(self, picture):
        self.current = Revision("open", picture)
        self.panel = deque([self.current], maxlen=SHOWN)

    def add(self, label, picture):
        self.current = Revision(label, picture, self.current)
        self.panel.append(self.current)
        self.panel[0].parent = None

    def undo(self):
        if len(self.panel) > 1:
            self.panel.pop()
            self.current = self.panel[-1]


def dab(picture):
    """A soft spot of one colour."""
    rows = torch.arange(HEIGHT, device=picture.device)[:, None] - random.randrange(HEIGHT)
    columns = torch.arange(WIDTH, device=picture.device)[None] - random.randrange(WIDTH)
    cover = torch.exp(-(rows**2 + columns**2) / random.uniform(500, 4000))
    colour = torch.rand(1, 3, 1, 1, device=picture.device)
    return torch.lerp(picture, colour, cover[None, None])


def lift(picture):
    return picture ** random.uniform(0.8, 0.95)


def sharpen(picture):
    return picture + 0.4 * (picture - F.avg_pool2d(picture, 5, stride=1, padding=2))


def warm(picture):
    shift = torch.tensor([1.02, 1.0, 0.98], device=picture.device)
    return picture * shift.view(1, 3, 1, 1)


TOOLS = dab, dab, dab, lift, sharpen, warm


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    coarse = torch.rand(1, 3, 20, 30, device=device)
    picture = F.interpolate(coarse, size=(HEIGHT, WIDTH), mode="bilinear", align_corners=False)
    history, steps = History(picture), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        if random.random() < 0.12:
            history.undo()
        else:
            tool = random.choice(TOOLS)
            picture = tool(history.current.picture).clamp(0, 1)
            history.add(tool.__name__, picture)
        share = history.current.changed()
        steps += 1
        if steps % 10 == 0:
            print(f"{steps} steps, last {history.current.label} changed {share:.1%}", flush=True)
        time.sleep(random.choice((0.1, 0.15, 0.2, 0.5)))


if __name__ == "__main__":
    main()
