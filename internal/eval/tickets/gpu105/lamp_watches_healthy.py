"""Night watches at a lighthouse.

While the lamp is lit, ships come into its circle and stay for a couple of seconds. Each ship's tracker listens to the
flashes and works out from the glints where on the chart the ship may be. By day the lamp is dark: the trackers are gone
and the keeper polishes the lens, which here means fitting its surface anew.

ticket: practice
class: none
"""
import collections
import math
import os
import random
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_A_SECOND = 10
NIGHT = 10 * ROUNDS_A_SECOND
DAY = 8 * ROUNDS_A_SECOND
STAY = 2 * ROUNDS_A_SECOND
CHART = (256, 300)


class Lamp:
    """The rotating lamp; whoever listens is told the bearing of each flash."""

    def __init__(self):
        self.bearing = 0.0
        self.observers = []

    def listen(self, observer):
        self.observers.append(observer)

    def unlisten(self, observer):
        self.observers = [one for one in self.observers if one != observer]

    def flash(self):
        self.bearing = (self.bearing + 0.37) % (2 * math.pi)
        for observer in list(self.observers):
            observer(self.bearing)


class Waters:
    """Bearing and distance of every point of the chart as seen from the lamp."""

    def __init__(self):
        north = torch.linspace(-12.0, 12.0, CHART[0], device=DEVICE)[:, None]
        east = torch.linspace(-14.0, 14.0, CHART[1], device=DEVICE)[None, :]
        self.bearings = torch.atan2(east.expand(CHART), north.expand(CHART))
        self.distances = torch.sqrt(north ** 2 + east ** 2)

    def prior(self, distance):
        return torch.exp(-(self.distances - distance) ** 2)


class ShipTracker:
    """Belief about where on the chart a ship is."""

    def __init__(self, name, waters, bearing, distance):
        self.name = name
        self.waters = waters
        self.bearing = bearing
        self.belief = waters.prior(distance)
        self.glints = 0
        self.inside = True

    def on_flash(self, beam):
        if not self.inside:
            return
        off = math.cos(beam - self.bearing)
        if off > 0.3:
            self.glints += 1
            self.belief.mul_(1 + 0.5 * torch.cos(self.waters.bearings - self.bearing))
            self.belief.div_(self.belief.sum())

    def certainty(self):
        return self.belief.max().item()


class Watch:
    def __init__(self, rng):
        self.rng = rng
        self.lamp = Lamp()
        self.waters = Waters()
        self.ships = collections.deque()
        self.seen = 0
        self.last = 0.0
        self.lens = torch.rand(2_000_000, device=DEVICE)

    def arrive(self):
        self.seen += 1
        ship = ShipTracker(f"ship {self.seen}", self.waters, self.rng.uniform(-3.1, 3.1), self.rng.uniform(2, 11))
        self.lamp.listen(ship.on_flash)
        self.ships.append(ship)

    def depart(self):
        ship = self.ships.popleft()
        ship.inside = False
        self.lamp.unlisten(ship.on_flash)
        self.last = ship.certainty()

    def night_round(self):
        self.arrive()
        self.lamp.flash()
        if len(self.ships) > STAY:
            self.depart()

    def day_round(self):
        while self.ships:
            self.depart()
        self.lens.sub_(0.05 * (self.lens - self.lens.mean()))


def main():
    torch.manual_seed(1698)
    torch.set_num_threads(1)
    watch = Watch(random.Random(1698))
    rounds = 0
    start = due = time.monotonic()
    while time.monotonic() - start < SECONDS:
        dark = rounds % (NIGHT + DAY) < NIGHT
        if dark:
            watch.night_round()
        else:
            watch.day_round()
        rounds += 1
        if rounds % 40 == 0:
            print(f"{'night' if dark else 'day'}, round {rounds}: {watch.seen} ships seen, "
                  f"last certainty {watch.last:.2e}, lens roughness {watch.lens.std().item():.4f}", flush=True)
        due = max(due + 1 / ROUNDS_A_SECOND, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"watch ended, {watch.seen} ships seen", flush=True)


if __name__ == "__main__":
    main()
