"""Parcels come along belts below cameras that see depth, and it is measured how much room each of them takes. A belt
runs while there are parcels on it, and reports itself then. So that belts are worked on side by side, and those with
express parcels before the others, there are two streams: one for these, and one for the others.

ticket: practice
class: none
"""

import contextlib
import os
import random
import time

import torch
from torch.nn import functional

HIGH, WIDE, FLOOR = 512, 640, 2.0


class Camera:
    """Looks down on a belt, from two metres above."""

    def __init__(self):
        self.rows = torch.arange(HIGH)[:, None]
        self.columns = torch.arange(WIDE)[None, :]

    def parcel(self):
        high, wide, tall = random.uniform(0.1, 0.4), random.uniform(0.1, 0.4), random.uniform(0.05, 0.6)
        on = ((self.rows / HIGH - 0.5).abs() < high) & ((self.columns / WIDE - 0.5).abs() < wide)
        depth = FLOOR - tall * on + 0.005 * torch.randn(HIGH, WIDE)
        depth[torch.rand(HIGH, WIDE) < 0.01] = 0
        return depth


class Belt:
    """A belt that has been switched on, until it is switched off."""

    def __init__(self, name, stream, device):
        self.name, self.device, self.volume = name, device, 0.0
        self.stream = stream

    def turn(self):
        return torch.cuda.stream(self.stream) if self.stream else contextlib.nullcontext()

    def mend(self, depth):
        """Fills the holes of the picture from around them, and takes away the noise."""
        seen = (depth > 0.1).float()
        around = functional.avg_pool2d(depth[None], 9, 1, 4)[0]
        share = functional.avg_pool2d(seen[None], 9, 1, 4)[0]
        mended = torch.where(seen > 0, depth, around / share.clamp_(min=1e-3))
        return -functional.max_pool2d(-mended[None], 3, 1, 1)[0]

    def measure(self, depth):
        """The litres below the top of what lies on the belt."""
        with self.turn():
            mended = self.mend(depth.to(self.device)[None])
            height = (FLOOR - mended).clamp_(min=0)
            square = (mended / 500).square_()
            volume = float((height * square * (height > 0.03)).sum()) * 1000
        self.volume += volume
        return volume


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    end, camera, said = time.time() + float(os.environ.get("SECONDS", "45")), Camera(), time.time()
    shifts, parcels, litres, streams = 0, 0, 0.0, [None, None]
    if device.type == "cuda":
        streams = [torch.cuda.Stream(device, priority=priority) for priority in (0, -1)]
    while time.time() < end:
        belt = Belt(random.choice("ABCDEF"), random.choice(streams), device)
        for _ in range(random.randint(3, 6)):
            belt.measure(camera.parcel())
            parcels += 1
            time.sleep(random.uniform(0.1, 0.4))
        shifts, litres = shifts + 1, litres + belt.volume
        if time.time() - said > 2:
            said = time.time()
            print(f"{shifts} belts, {parcels} parcels, {litres / parcels:.1f} litres each; last was belt {belt.name}",
                  flush=True)


if __name__ == "__main__":
    main()
