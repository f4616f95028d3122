"""Grading of pearls from pictures of their nacre.

The divers' catch comes in lots.  A small network looks at pictures of each pearl and gives a grade for
its lustre; for every lot a comparison with a reference card, photographed under the lamp of the day,
watches the features of two layers while the lot is graded.  The network learns from the buyer's prices.

ticket: practice
class: host-growth
holder: _forward_hooks
cause: hooks-left
"""
import contextlib
import os
import time

import torch
from torch import nn

SECONDS = float(os.environ.get("SECONDS", "120"))
LOTS_PER_SECOND = 5
PEARLS = 12
SIDE = 40
GRADES = 5


class LustreNet(nn.Module):
    """Two convolutions and a head."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 5, stride=2, padding=2)
        self.body = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.head = nn.Linear(16, GRADES)

    def forward(self, pictures):
        features = torch.relu(self.stem(pictures))
        features = torch.relu(self.body(features))
        return self.head(features.mean(dim=(2, 3)))


class Comparison:
    """Follows the features of one lot beside its reference card."""

    def __init__(self, number, gen):
        self.number = number
        self.card = torch.rand(3, 320, 320, generator=gen)  # grows
        self.lamp = float(self.card.mean())
        self.levels = {}
        self.closed = False

    def look(self, layer, inputs, output):
        if not self.closed:
            self.levels[layer.out_channels] = float(output.detach().abs().mean()) / self.lamp

    def contrast(self):
        low, high = min(self.levels), max(self.levels)
        return self.levels[high] / max(self.levels[low], 1e-6)


@contextlib.contextmanager
def compared(net, comparison):
    """Let the comparison look at the convolutions for as long as the block lasts."""
    handles = {}
    for name, layer in net.named_children():
        if isinstance(layer, nn.Conv2d):
            kind = type(layer).__name__
            handles[kind] = layer.register_forward_hook(comparison.look)  # keeps
    try:
        yield comparison
    finally:
        comparison.closed = True
        for handle in handles.values():
            handle.remove()


class Catch:
    """Lots of pearls with the price class that the buyer named."""

    def __init__(self, gen):
        self.gen = gen
        self.tints = torch.rand(GRADES, 3, 1, 1, generator=gen)

    def lot(self):
        grades = torch.randint(0, GRADES, (PEARLS,), generator=self.gen)
        noise = torch.randn(PEARLS, 3, SIDE, SIDE, generator=self.gen)
        return self.tints[grades] + 0.2 * noise, grades


class Grader:
    """The network with its optimizer and figures."""

    def __init__(self, gen):
        self.gen = gen
        self.net = LustreNet()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.05, momentum=0.9)
        self.loss = nn.CrossEntropyLoss()
        self.mean = None
        self.right = 0.0
        self.contrast = 1.0

    def grade(self, number, pictures, grades):
        self.optimizer.zero_grad()
        with compared(self.net, Comparison(number, self.gen)) as comparison:
            scores = self.net(pictures)
        loss = self.loss(scores, grades)
        loss.backward()
        self.optimizer.step()
        value = float(loss.detach())
        self.mean = value if self.mean is None else 0.95 * self.mean + 0.05 * value
        hit = float((scores.detach().argmax(dim=1) == grades).float().mean())
        self.right = 0.95 * self.right + 0.05 * hit
        self.contrast = 0.95 * self.contrast + 0.05 * comparison.contrast()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1893)
    gen = torch.Generator().manual_seed(77)
    catch, grader = Catch(gen), Grader(gen)
    start = time.monotonic()
    told, lots = start, 0
    while (now := time.monotonic()) - start < SECONDS:
        grader.grade(lots, *catch.lot())
        lots += 1
        if now - told >= 3.0:
            told = now
            print(f"{now - start:6.1f} s  lots {lots:5d}  loss {grader.mean:6.3f}  right {grader.right:5.2f}  "
                  f"contrast {grader.contrast:6.3f}", flush=True)
        time.sleep(max(0.0, 1.0 / LOTS_PER_SECOND - (time.monotonic() - now)))
    print(f"catch graded: {lots} lots of {PEARLS} pearls, loss {grader.mean:.3f}", flush=True)


if __name__ == "__main__":
    main()
