"""Service for comic artists: finds the speech balloons in panels, so that a letterer can fill them.

Artists cut their panels in whatever size a page asks for, so each image comes in its own height and
width and is handled one at a time. The network sees the ink and, as a second input, where on the
panel a point lies (balloons are more often at the top), as waves over the rows and the columns.

ticket: practice
class: none
"""
import math
import os
import time
from collections import deque
from functools import lru_cache

import torch
from torch import nn

torch.set_num_threads(1)

IMAGES_A_SECOND = 6
WAVES = 3


class BalloonNet(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.ink = nn.Conv2d(1, width, 5, stride=2, padding=2)
        self.place = nn.Conv2d(2 * WAVES, width, 1, stride=2)
        self.mix = nn.Sequential(nn.ReLU(), nn.Conv2d(width, width, 3, stride=2, padding=1), nn.ReLU())
        self.head = nn.Conv2d(width, 1, 1)

    @lru_cache(maxsize=12)
    def waves(self, height, width):
        """Sines and cosines of the position, one pair per octave, for a panel of this size."""
        down = torch.linspace(0.0, 1.0, height)[:, None]
        over = torch.linspace(0.0, 1.0, width)[None, :]
        planes = torch.empty(1, 2 * WAVES, height, width)
        for octave in range(WAVES):
            turn = math.pi * 2 ** octave
            planes[0, 2 * octave] = torch.sin(turn * down).expand(height, width)
            planes[0, 2 * octave + 1] = torch.cos(turn * over).expand(height, width)
        return planes

    def forward(self, panel):
        height, width = panel.shape[-2:]
        seen = self.ink(panel) + self.place(self.waves(height, width))
        return torch.sigmoid(self.head(self.mix(seen)))


class PanelStream:
    """Panels as they come in: hatching, with a few pale ellipses as balloons."""

    def __init__(self, seed, least=150, most=290):
        self.gen = torch.Generator().manual_seed(seed)
        self.least = least
        self.most = most

    def pick(self, low, high):
        return int(torch.randint(low, high, (1,), generator=self.gen))

    def __iter__(self):
        return self

    def __next__(self):
        height, width = self.pick(self.least, self.most), self.pick(self.least, self.most)
        panel = torch.rand(1, 1, height, width, generator=self.gen)
        rows = torch.arange(height)[:, None]
        cols = torch.arange(width)[None, :]
        for _ in range(self.pick(1, 4)):
            top, left = self.pick(20, height // 2), self.pick(20, width - 20)
            inside = ((rows - top) / 18.0) ** 2 + ((cols - left) / 32.0) ** 2 < 1.0
            panel[0, 0][inside] = 1.0
        return panel


def boxes(mask, limit):
    """Rows and columns of the mask that are above the limit, as one box."""
    lit = mask[0, 0] > limit
    rows, cols = lit.any(dim=1).nonzero().flatten(), lit.any(dim=0).nonzero().flatten()
    if len(rows) == 0:
        return None
    return tuple(4 * int(edge) for edge in (rows[0], cols[0], rows[-1], cols[-1]))


class Service:
    def __init__(self, net):
        self.net = net.eval()
        self.recent = deque(maxlen=32)
        self.served = 0

    @torch.inference_mode()
    def handle(self, panel):
        with torch.backends.mkldnn.flags(enabled=False):
            mask = self.net(panel)
        self.recent.append(mask)
        self.served += 1
        return boxes(mask, float(mask.mean()) + 0.5 * float(mask.std()))

    def brightness(self):
        return sum(float(mask.mean()) for mask in self.recent) / len(self.recent)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.manual_seed(12)
    service = Service(BalloonNet())
    for panel in PanelStream(seed=5):
        start = time.time()
        if start > end:
            break
        box = service.handle(panel)
        if service.served % 20 == 0:
            print(f"{service.served} panels, {tuple(panel.shape[-2:])} -> {box}, "
                  f"mean mask {service.brightness():.3f}", flush=True)
        time.sleep(max(0.0, 1.0 / IMAGES_A_SECOND - (time.time() - start)))
    print(f"served {service.served} panels", flush=True)


if __name__ == "__main__":
    main()
