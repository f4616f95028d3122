"""At the primary crusher of a quarry a camera looks at every load that the trucks tip. The rocks of the load are sized
by a bank of filters, the gap of the jaws is set to them, and loads with tramp iron or with a boulder too large are
turned away to the breaker. Loads are simulated; the foreman gets a summary every few seconds.

ticket: practice
class: none
"""
import os
import time

import torch
import torch.nn.functional as F

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
SIDE = 384
SIZES = (3, 7, 15, 31)
LOADS_A_SECOND = 8.0
BOULDER_LIMIT = 0.55
IRON_LIMIT = 0.995


class UnfitLoad(Exception):
    """The load can not go into the jaws."""

    def __init__(self, number, reason, amount):
        super().__init__(f"load {number}: {reason} {amount:.3f}")
        self.number = number
        self.reason = reason


class TruckRamp:
    """Tips loads: rock as smoothed noise, sometimes coarse, sometimes with a tooth of a shovel in it."""

    def __init__(self, seed):
        self._dice = torch.Generator().manual_seed(seed)
        self.tipped = 0

    def tip(self):
        self.tipped += 1
        coarse = torch.rand((), generator=self._dice) < 0.45
        cells = 10 if coarse else 48
        rough = torch.rand(1, 1, cells, cells, generator=self._dice).to(DEVICE)
        scene = F.interpolate(rough, size=(SIDE, SIDE), mode="bilinear", align_corners=False)[0, 0]
        scene = scene * 0.98
        if torch.rand((), generator=self._dice) < 0.2:
            row, column = torch.randint(SIDE - 12, (2,), generator=self._dice).tolist()
            scene[row:row + 12, column:column + 4] = 1.0
        return self.tipped, scene


class Grader:
    """Sizes the rocks of a load and refuses what would harm the jaws."""

    def __init__(self):
        self.share = torch.full((len(SIZES),), 1.0 / len(SIZES), device=DEVICE)

    def grade(self, number, scene):
        """The share of each size class in the load."""
        iron = (scene > IRON_LIMIT).float().mean().item()
        if iron > 0:
            raise UnfitLoad(number, "tramp iron", iron)
        return self.size(number, scene)

    def size(self, number, scene):
        layers = [F.avg_pool2d(scene[None, None], size, 1, size // 2)[0, 0] for size in SIZES]
        rough = [(fine - broad).abs().mean() for fine, broad in zip([scene] + layers, layers)]
        share = torch.stack(rough) / torch.stack(rough).sum()
        boulder = share[-1].item()
        if boulder > BOULDER_LIMIT:
            raise UnfitLoad(number, "boulder", boulder)
        return share


class Crusher:
    """Sets the gap of the jaws and sends unfit loads to the breaker."""

    def __init__(self, grader):
        self.grader = grader
        self.gap = 120.0
        self.crushed = 0
        self._turned_away = []

    def feed(self, number, scene):
        try:
            share = self.grader.grade(number, scene)
        except UnfitLoad as unfit:
            self._turned_away.append(str(unfit))
            return False
        millimetres = torch.tensor([40.0, 80.0, 140.0, 220.0], device=DEVICE)
        self.gap += 0.1 * ((share * millimetres).sum().item() - self.gap)
        self.crushed += 1
        return True

    def summary(self):
        count = len(self._turned_away)
        last = self._turned_away[-1] if count else "none"
        return f"gap {self.gap:.0f} mm, {self.crushed} crushed, {count} to the breaker, last {last}"


def main():
    torch.set_num_threads(1)
    ramp = TruckRamp(seed=77)
    crusher = Crusher(Grader())
    start = time.monotonic()
    next_line = start + 2.0
    while time.monotonic() - start < SECONDS:
        number, scene = ramp.tip()
        crusher.feed(number, scene)
        if time.monotonic() >= next_line:
            print(crusher.summary(), flush=True)
            next_line += 3.0
        time.sleep(1.0 / LOADS_A_SECOND)
    print(f"shift over, {ramp.tipped} loads: {crusher.summary()}", flush=True)


if __name__ == "__main__":
    main()
