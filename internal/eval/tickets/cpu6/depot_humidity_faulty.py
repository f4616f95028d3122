"""Door watch of a museum depot with climate boxes for panel paintings.

Shuttles open the boxes and close them again after a moment. When a door opens, the profile of the box (temperature
and humidity at its probes over the last minutes) is taken as a base line, and an inspection is set for a quarter of an
hour later, in case that the door should still stand open by then. When the door closes, the air is compared with the
base line and the loss of humidity is booked to the box.

ticket: practice
class: host-growth
holder: _queue clock
cause: timers-left
"""
import os
import sched
import time
from collections import Counter

import numpy as np

PROBES = 64
MINUTES = 1536
BOXES = 120
OPENINGS_PER_SECOND = 8
QUARTER = 900.0


class ClimateBox:
    def __init__(self, number, rng):
        self.number = number
        self.rng = rng
        self.humidity = 50.0 + rng.normal(0, 2)
        self.base = None
        self.inspection = None
        self.lost = 0.0

    def profile(self):
        """Humidity per probe and moment, with the daily swing of the hall."""
        swing = np.sin(np.linspace(0, 6.3, MINUTES))
        air = self.rng.standard_normal((PROBES, MINUTES))  # grows
        air *= 0.3
        air += self.humidity + 0.5 * swing
        return air

    def is_open(self):
        return self.base is not None


class DoorWatch:
    """Opens and closes doors on one clock, which also holds the inspections."""

    def __init__(self, rng, until):
        self.rng = rng
        self.until = until
        self.clock = sched.scheduler(time.time, time.sleep)
        self.boxes = [ClimateBox(number, rng) for number in range(BOXES)]
        self.tally = Counter()

    def start(self):
        self.clock.enter(0, 2, self.door_opens)
        self.clock.enter(3, 3, self.bulletin)

    def idle_box(self):
        while True:
            box = self.boxes[int(self.rng.integers(BOXES))]
            if not box.is_open():
                return box

    def door_opens(self):
        box = self.idle_box()
        box.base = box.profile()  # grows
        box.inspection = self.clock.enter(QUARTER, 1, self.inspect, (box, box.base))  # keeps
        self.clock.enter(self.rng.uniform(0.4, 1.6), 1, self.door_closes, (box,))
        self.tally["opened"] += 1
        self.clock.enter(1.0 / OPENINGS_PER_SECOND, 2, self.door_opens)

    def door_closes(self, box):
        box.humidity += self.rng.normal(-0.4, 0.2)
        drop = box.base[:, -60:].mean() - box.profile()[:, :60].mean()
        box.lost += max(0.0, float(drop))
        box.base = None
        box.inspection = None
        self.tally["closed"] += 1
        if box.lost > 1.5:
            self.humidify(box)

    def humidify(self, box):
        box.humidity += 0.9 * box.lost
        box.lost = 0.0
        self.tally["humidified"] += 1

    def inspect(self, box, base):
        """A door that stood open too long: send someone with the base line in hand."""
        worst = int(np.argmax(np.abs(box.profile().mean(axis=1) - base.mean(axis=1))))
        self.tally["inspected"] += 1
        print(f"box {box.number}: look at probe {worst}", flush=True)

    def bulletin(self):
        open_now = sum(box.is_open() for box in self.boxes)
        mean = sum(box.humidity for box in self.boxes) / BOXES
        print(f"doors {dict(self.tally)}, open {open_now}, mean humidity {mean:.1f}", flush=True)
        self.clock.enter(3, 3, self.bulletin)

    def run(self):
        self.start()
        while time.time() < self.until:
            wait = self.clock.run(blocking=False)
            time.sleep(min(wait or 0.05, 0.05))


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    DoorWatch(np.random.default_rng(1664), end).run()


if __name__ == "__main__":
    main()
