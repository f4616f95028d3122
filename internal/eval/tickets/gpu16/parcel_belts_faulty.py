"""Parcels come along belts below cameras that see depth, and it is measured how much room each of them takes. A belt
runs while there are parcels on it, and reports itself then. So that belts are worked on side by side, and those with
express parcels before the others, whatever a belt sends is worked on in a stream of its own.

ticket: practice
class: pool-growth
holder: -
cause: pool-for-each-stream pool-never-trims
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

    def __init__(self, name, express, device):
        self.name, self.device, self.volume = name, device, 0.0
        self.stream = None
        if device.type == "cuda":
            self.stream = torch.cuda.Stream(device, priority=-1 if express else 0)  # keeps

    def turn(self):
        return torch.cuda.stream(self.stream) if self.stream else contextlib.nullcontext()

    def mend(self, depth):
        """Fills the holes of the picture from around them, and takes away the noise."""
        seen = (depth > 0.1).float()  # grows
        around = functional.avg_pool2d(depth[None], 9, 1, 4)[0]  # grows
        share = functional.avg_pool2d(seen[None], 9, 1, 4)[0]  # grows
        mended = torch.where(seen > 0, depth, around / share.clamp_(min=1e-3))  # grows
        return -functional.max_pool2d(-mended[None], 3, 1, 1)[0]  # grows

    def measure(self, depth):
        """The litres below the top of what lies on the belt."""
        with self.turn():
            mended = self.mend(depth.to(self.device)[None])  # grows
            height = (FLOOR - mended).clamp_(min=0)  # grows
            square = (mended / 500).square_()  # grows
            volume = float((height * square * (height > 0.03)).sum()) * 1000  # grows
        self.volume += volume
        return volume


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    end, camera, said = time.time() + float(os.environ.get("SECONDS", "45")), Camera(), time.time()
    shifts, parcels, litres = 0, 0, 0.0
    while time.time() < end:
        belt = Belt(random.choice("ABCDEF"), random.random() < 0.5, device)
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
