"""
The beds of a greenhouse are watered in turns of six seconds. At the start of a turn the controller opens
the valves of a dozen beds, each with a map of the water that every spot is to get, and sets a latest
time for each valve at which it must shut whatever the probes say. As a rule the probes report wet soil
after a second or two, and the valve shuts by itself.

ticket: practice
class: host-growth
holder: timetable
cause: timers-left
"""
import os
import sched
import time

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
TURN_SECONDS = 6.0
LATEST_SECONDS = 1800.0
BEDS = 36
BEDS_PER_TURN = 12
SPOTS = (512, 512)


class Bed:
    """One bed with its soil, which dries in the sun and drinks from the drip lines."""

    def __init__(self, number, rng):
        self.number = number
        self.moisture = rng.uniform(0.2, 0.5, size=SPOTS).astype(np.float32)

    def dry(self, sun):
        self.moisture *= np.float32(1.0 - 0.02 * sun)

    def drink(self, water, share):
        self.moisture += water * np.float32(share)

    def wetness(self):
        return float(self.moisture[::16, ::16].mean())


class OpenValve:
    def __init__(self, bed, water):
        self.bed = bed
        self.water = water
        self.opened = time.monotonic()
        self.given = 0.0

    def flow(self, share):
        self.bed.drink(self.water, share)
        self.given += share


class DripController:
    def __init__(self, seed=67):
        self.rng = np.random.default_rng(seed)
        self.beds = [Bed(number, self.rng) for number in range(BEDS)]
        self.timetable = sched.scheduler(time.monotonic, time.sleep)
        self.open = {}
        self.turn = 0
        self.forced = 0
        self.litres = 0.0

    def start_turn(self):
        first = self.turn * BEDS_PER_TURN % BEDS
        for bed in self.beds[first:first + BEDS_PER_TURN]:
            bed.dry(float(self.rng.uniform(0.5, 1.5)))
            self.open_valve(bed)
        self.turn += 1

    def open_valve(self, bed):
        water = np.clip(np.float32(0.7) - bed.moisture, 0.0, 1.0)  # grows
        valve = OpenValve(bed, water)
        latest = self.timetable.enter(LATEST_SECONDS, 1, self.force_shut, (valve,))  # keeps
        self.open[bed.number] = valve, latest

    def force_shut(self, valve):
        if self.open.pop(valve.bed.number, None) is not None:
            self.forced += 1

    def shut(self, valve):
        self.litres += valve.given * 40.0
        _, latest = self.open.pop(valve.bed.number)

    def round(self):
        self.timetable.run(blocking=False)
        for valve, _ in list(self.open.values()):
            valve.flow(0.06)
            if valve.bed.wetness() > 0.62 or valve.given > 1.0:
                self.shut(valve)

    def driest(self):
        bed = min(self.beds, key=Bed.wetness)
        return f"bed {bed.number} at {bed.wetness():.2f}"


def main():
    controller = DripController()
    start = time.monotonic()
    next_turn = start
    next_line = start + 2.0
    while True:
        now = time.monotonic()
        if now - start >= SECONDS:
            break
        if now >= next_turn:
            next_turn += TURN_SECONDS
            controller.start_turn()
        controller.round()
        if now >= next_line:
            next_line += 4.0
            print(
                f"{now - start:6.1f} s  turn {controller.turn}  open {len(controller.open)}  "
                f"{controller.litres:.0f} l  driest {controller.driest()}",
                flush=True,
            )
        time.sleep(1.0 / ROUNDS_PER_SECOND)
    print(f"{controller.turn} turns, {controller.litres:.0f} l, {controller.forced} valves forced", flush=True)


if __name__ == "__main__":
    main()
