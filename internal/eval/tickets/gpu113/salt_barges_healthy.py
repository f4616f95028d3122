"""Quay of a salt works.

Convoys of barges bring raw salt from the pans to the works. At the quay each barge is scanned, and the moisture of
its heap is estimated as a field over the hold. Dry heaps go to the mill at once, wet heaps are turned back to the
draining floor. Between the convoys the works go on with the drying of the salt that is already in the sheds.

ticket: practice
class: none
"""
import os
import random
import time

import torch
import torch.nn.functional as F

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 6
CONVOY_EVERY = 7.0
CONVOY_SIZE = 40
CALLS_PER_ROUND = 8
HOLD = (512, 512)
WET_LIMIT = 0.052

torch.set_num_threads(1)


class Barge:
    """A barge with the scan of its hold."""

    def __init__(self, number, dampness, generator):
        self.number = number
        self.moisture = torch.rand(HOLD, generator=generator, device=DEVICE)
        self.moisture.mul_(2.0 * dampness)

    def drain(self, hours):
        self.moisture.mul_(1.0 - 0.002 * hours)

    def mean_moisture(self):
        return float(self.moisture.mean())


class DryingSheds:
    """Salt in the sheds, which loses its water to the air."""

    def __init__(self, generator, sheds=24):
        self.generator = generator
        self.water = torch.rand(sheds, 1, *HOLD, generator=generator, device=DEVICE).mul_(0.05)
        self.kernel = torch.tensor([[0.05, 0.1, 0.05], [0.1, 0.4, 0.1], [0.05, 0.1, 0.05]], device=DEVICE)[None, None]
        self.turn = 0

    def dry(self):
        shed = self.water[self.turn : self.turn + 1]
        shed.copy_(F.conv2d(shed, self.kernel, padding=1).mul_(0.99))
        self.turn = (self.turn + 1) % len(self.water)

    def fill(self, moisture):
        self.water[self.turn, 0].lerp_(moisture, 0.5)

    def mean_water(self):
        return float(self.water[self.turn].mean())


class Quay:
    """Knows the barges alongside by number and calls them to the crane."""

    def __init__(self, sheds, seed):
        self.rng = random.Random(seed)
        self.generator = torch.Generator(device=DEVICE)
        self.generator.manual_seed(seed)
        self.sheds = sheds
        self._alongside = {}
        self.roads = []
        self.next_number = 1
        self.milled = 0
        self.turned_back = 0

    def moor_convoy(self):
        for _ in range(CONVOY_SIZE):
            dampness = self.rng.uniform(0.04, 0.088)
            barge = Barge(self.next_number, dampness, self.generator)
            self._alongside[barge.number] = barge
            self.roads.append(barge.number)
            self.next_number += 1

    def call_next(self):
        number = self.roads.pop(0)
        barge = self._alongside[number]
        barge.drain(hours=self.rng.uniform(0.5, 2.0))
        if barge.mean_moisture() > WET_LIMIT:
            self.turned_back += 1
            del self._alongside[number]
            return
        self.sheds.fill(barge.moisture)
        self.milled += 1
        del self._alongside[number]

    def work(self):
        for _ in range(min(CALLS_PER_ROUND, len(self.roads))):
            self.call_next()


def main():
    generator = torch.Generator(device=DEVICE)
    generator.manual_seed(7)
    sheds = DryingSheds(generator)
    quay = Quay(sheds, seed=11)
    started = time.monotonic()
    next_convoy = started + 2.0
    next_report = started + 4.0
    while time.monotonic() - started < SECONDS:
        began = time.monotonic()
        if began >= next_convoy:
            quay.moor_convoy()
            next_convoy += CONVOY_EVERY
        quay.work()
        sheds.dry()
        if began >= next_report:
            print(
                f"{began - started:5.0f} s  milled {quay.milled:4d}  turned back {quay.turned_back:4d}  "
                f"water in shed {sheds.mean_water():.4f}",
                flush=True,
            )
            next_report += 4.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - began)))
    print(f"quay closed: {quay.milled} barges milled, {quay.turned_back} turned back", flush=True)


if __name__ == "__main__":
    main()
