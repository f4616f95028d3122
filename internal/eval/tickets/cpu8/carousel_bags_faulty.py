"""Baggage hall of an airport: bags ride from check-in past three X-ray tunnels to the carousel.

A bag gets an entry under its label when it is checked in. Each tunnel blends its own picture into
that of the bag. Bags of a connecting flight are given a new label after the first tunnel, as the
desk at the gate prints another slip for them. At the carousel the picture is scored for clutter and
the bag is handed out.

ticket: practice
class: host-growth
holder: in_transit
cause: entries-left
"""
import os
import time
from collections import Counter, deque

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np

SHAPE = (256, 320)
PACE = 0.05
BAGS_PER_STEP = 2
FLIGHTS = ("LX318", "AY1471", "TP560", "OS102", "SK887")


class Bag:
    __slots__ = ("label", "density", "connecting", "stage")

    def __init__(self, label, density, connecting):
        self.label = label
        self.density = density
        self.connecting = connecting
        self.stage = 0


class Tunnel:
    """One X-ray tunnel with its own gain and its own noise."""

    def __init__(self, rng, gain, noise):
        self.rng = rng
        self.gain = gain
        self.noise = noise

    def picture(self, bag):
        shot = self.rng.random(SHAPE, dtype=np.float32)
        shot *= self.noise
        shot += self.gain * bag.density
        return shot


class Hall:
    def __init__(self, rng):
        self.rng = rng
        self.tunnels = [Tunnel(rng, 0.9, 0.2), Tunnel(rng, 1.0, 0.3), Tunnel(rng, 1.1, 0.1)]
        self.belt = deque()
        self.in_transit = {}
        self.recent_scores = deque(maxlen=200)
        self.handed_out = Counter()
        self.printed = 0

    def new_label(self):
        self.printed += 1
        return f"{FLIGHTS[self.printed % len(FLIGHTS)]}-{self.printed:06d}"

    def check_in(self):
        bag = Bag(self.new_label(), float(self.rng.uniform(0.2, 0.8)), self.rng.random() < 0.4)
        self.in_transit[bag.label] = np.full(SHAPE, bag.density, dtype=np.float32)
        self.belt.append(bag)

    def scan(self, bag):
        seen = self.in_transit[bag.label]
        fresh = self.tunnels[bag.stage].picture(bag)
        self.in_transit[bag.label] = 0.6 * seen + 0.4 * fresh  # grows keeps
        bag.stage += 1
        if bag.connecting and bag.stage == 1:
            self.relabel(bag)

    def relabel(self, bag):
        label = self.new_label()
        self.in_transit[label] = self.in_transit[bag.label]
        bag.label = label

    def hand_out(self, bag):
        picture = self.in_transit.pop(bag.label)
        steps = np.abs(np.diff(picture[::2], axis=1))
        self.recent_scores.append(float(steps.mean()))
        self.handed_out[bag.label.partition("-")[0]] += 1

    def advance(self):
        """Every bag on the belt moves on by one place; the last place is the carousel."""
        for _ in range(len(self.belt)):
            bag = self.belt.popleft()
            if bag.stage == len(self.tunnels):
                self.hand_out(bag)
            else:
                self.scan(bag)
                self.belt.append(bag)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    hall = Hall(np.random.default_rng(318))
    spoken = time.time()
    while time.time() < end:
        due = time.time() + PACE
        for _ in range(BAGS_PER_STEP):
            hall.check_in()
        hall.advance()
        if time.time() - spoken > 3.0:
            spoken = time.time()
            flight, most = hall.handed_out.most_common(1)[0]
            mean = sum(hall.recent_scores) / len(hall.recent_scores)
            print(f"{sum(hall.handed_out.values())} bags out, belt {len(hall.belt)}, "
                  f"most {flight} ({most}), clutter {mean:.4f}", flush=True)
        time.sleep(max(0.0, due - time.time()))
    print("hall closed", flush=True)


if __name__ == "__main__":
    main()
