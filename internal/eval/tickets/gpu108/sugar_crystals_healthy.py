"""Follows the sizes of the crystals in the vacuum pans of a sugar mill.

How fast crystals of a size grow and break depends on the brix and the temperature of the syrup; a kernel says how
crystals move between the classes of size. Twice in a strike the same kernel is wanted: for the growth and for the check
of the balance. Every five seconds a pan is photographed through its sight glass and the stack of frames is examined.

ticket: practice
class: none
"""
import math
import os
import random
import time

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
CLASSES = 181
KERNELS_KEPT = 12
ROUNDS_PER_SECOND = 4
FRAMES, HEIGHT, WIDTH = 50, 1024, 1024
PHOTO_EVERY = 5.0
PHOTO_LASTS = 2.4


class Kinetics:
    """Kernels by the state of the syrup."""

    def __init__(self):
        self.sizes = torch.linspace(0.05, 1.2, CLASSES, device=DEVICE)
        self._kernels = {}
        self.made = 0

    def kernel(self, brix, temperature):
        key = round(brix, 3), round(temperature, 2)
        found = self._kernels.get(key)
        if found is None:
            found = self.compute(*key)
            while len(self._kernels) >= KERNELS_KEPT:
                self._kernels.pop(next(iter(self._kernels)))
            self._kernels[key] = found
        return found

    def compute(self, brix, temperature):
        self.made += 1
        speed = 0.004 * (brix - 74.0) * math.exp((temperature - 65.0) / 30.0)
        distance = self.sizes[None, :] - self.sizes[:, None] - speed
        return torch.softmax(-distance.square() / 2e-4, dim=1)


class Pan:
    """One vacuum pan with the share of crystals in each class of size."""

    def __init__(self, number, rng):
        self.number = number
        self.rng = rng
        self.shares = torch.zeros(CLASSES, device=DEVICE)
        self.brix = 78.0
        self.temperature = 66.0
        self.strikes = 0
        self.seed()

    def seed(self):
        self.shares.zero_()
        self.shares[:20] = 0.05

    def strike(self, kinetics):
        self.strikes += 1
        self.brix = min(82.0, max(76.0, self.brix + self.rng.gauss(0, 0.4)))
        self.temperature = min(72.0, max(62.0, self.temperature + self.rng.gauss(0, 0.5)))
        self.shares.copy_(self.shares @ kinetics.kernel(self.brix, self.temperature))
        if self.strikes % 20 == 0:
            self.seed()

    def balance(self, kinetics):
        moved = kinetics.kernel(self.brix, self.temperature).sum(dim=1)
        return (moved - 1.0).abs().max().item()

    def mean_size(self, sizes):
        return ((self.shares * sizes).sum() / self.shares.sum()).item()


class SightGlass:
    """The camera at the pan; frames are at hand while they are examined."""

    def __init__(self):
        self.frames = None
        self.until = 0.0

    def photograph(self, now):
        self.frames = torch.zeros(FRAMES, HEIGHT, WIDTH, device=DEVICE)
        self.until = now + PHOTO_LASTS

    def examine(self, now, rng):
        frame = self.frames[rng.randrange(FRAMES)]
        frame.add_(rng.random())
        bright = (frame > 0.5).float().mean().item()
        if now >= self.until:
            self.frames = None
        return bright


def main():
    torch.manual_seed(97)
    rng = random.Random(97)
    kinetics = Kinetics()
    pans = [Pan(number, rng) for number in range(1, 5)]
    glass = SightGlass()
    start = time.monotonic()
    next_photo = start + 1.0
    next_print = start + 2.0
    bright, rounds, worst = 0.0, 0, 0.0
    while (now := time.monotonic()) - start < SECONDS:
        pan = pans[rounds % len(pans)]
        rounds += 1
        pan.strike(kinetics)
        worst = max(worst, pan.balance(kinetics))
        if glass.frames is not None:
            bright = glass.examine(now, rng)
        elif now >= next_photo:
            glass.photograph(now)
            next_photo += PHOTO_EVERY
        if now >= next_print:
            size = pan.mean_size(kinetics.sizes)
            print(f"pan {pan.number}: {size:.3f} mm, bright {bright:.2f}, {kinetics.made} kernels made", flush=True)
            next_print += 2.0
        time.sleep(max(0.02, 1 / ROUNDS_PER_SECOND - (time.monotonic() - now)))
    print(f"{rounds} strikes, balance within {worst:.1e}", flush=True)


if __name__ == "__main__":
    main()
