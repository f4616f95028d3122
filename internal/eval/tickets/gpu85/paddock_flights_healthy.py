"""Drone flights over the paddocks of a sheep farm, looking for thistles.

Each flight begins with a calibration strip along the fence: the mean response
of the network's second stage over that strip is what the paddock looks like
where nothing grows amiss.  Then the drone crosses the paddock, and for each
crossing the second stage's response is compared with that background; where
the two lie far apart, thistles are likely.  The network's own output, the
grass cover, is noted as well.  Flights follow one another all day.

ticket: practice
class: none
"""
import collections
import os
import time

import torch
import torch.nn as nn

TILE = 256
STRIP = 6
CROSSING = 4
FLIGHT_PACE = 0.3

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def block(inputs, outputs, stride):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    )


class PastureNet(nn.Module):
    """Grass cover between nought and one for each tile."""

    def __init__(self):
        super().__init__()
        self.stage1 = block(3, 24, 2)
        self.stage2 = block(24, 80, 1)
        self.stage3 = block(80, 48, 4)
        self.cover = nn.Linear(48, 1)

    def forward(self, tiles):
        x = self.stage3(self.stage2(self.stage1(tiles)))
        return torch.sigmoid(self.cover(x.mean(dim=(2, 3)))).squeeze(1)


class Drone:
    """Hands out strips and crossings of a paddock as tiles in colour."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)

    def photograph(self, tiles, green):
        picture = torch.rand(tiles, 3, TILE, TILE, generator=self.generator)
        picture[:, 1] += green
        return picture.to(device)


class Readings:
    """What a flight has found so far."""

    def __init__(self, paddock):
        self.paddock = paddock
        self.contrast = []
        self.cover = []

    def thistles(self, threshold):
        return sum(value > threshold for value in self.contrast)


class Surveyor:
    def __init__(self):
        torch.manual_seed(17)
        self.net = PastureNet().to(device).eval()

    def background_of(self, strip):
        return self.net.stage2(self.net.stage1(strip)).mean(dim=0)

    def compare_with(self, background, readings):
        """Have every later pass through the second stage compared with the background."""

        def against_background(module, inputs, output):
            apart = (output - background).abs().mean(dim=(1, 2, 3))
            readings.contrast.extend(apart.tolist())

        return self.net.stage2.register_forward_hook(against_background)

    @torch.no_grad()
    def fly(self, drone, paddock, green):
        readings = Readings(paddock)
        background = self.background_of(drone.photograph(STRIP, green))
        handle = self.compare_with(background, readings)
        try:
            for crossing in range(2):
                tiles = drone.photograph(CROSSING, green + 0.05 * crossing)
                readings.cover.extend(self.net(tiles).tolist())
        finally:
            handle.remove()
        return readings


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    paddocks = ["Long Acre", "Mill Field", "Upper Down", "Brook Piece", "The Shoulder", "Gorse Bank"]
    drone = Drone(seed=8)
    surveyor = Surveyor()
    found = collections.Counter()

    flights = 0
    next_flight = time.time()
    while time.time() < deadline:
        paddock = paddocks[flights % len(paddocks)]
        readings = surveyor.fly(drone, paddock, green=0.1 * (flights % len(paddocks)))
        found[paddock] += readings.thistles(threshold=0.0275)
        flights += 1
        if flights % 15 == 0:
            cover = sum(readings.cover) / len(readings.cover)
            print(f"flight {flights}: {paddock}, grass cover {cover:.2f}, "
                  f"thistle tiles so far {sum(found.values())}", flush=True)
        next_flight += FLIGHT_PACE
        time.sleep(max(0.0, next_flight - time.time()))

    for paddock, tiles in found.most_common():
        print(f"{paddock}: {tiles} tiles with thistles", flush=True)
    print(f"{flights} flights in all", flush=True)


if __name__ == "__main__":
    main()
