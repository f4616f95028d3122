"""A harbour's pilots at work: a simulation by events.

Vessels come to the pilot station, wait for a pilot, and are brought to a berth; the pilot then
goes back to the station by launch. A job ties the vessel to its pilot for the way in, and the
vessel's track is noted by fixes on every tick, as the harbour office wants it for the bill and
for its look at near misses. The simulation runs at some ten ticks a second, a tick being two
minutes. The collector is switched off, as its pauses made the clock of the display stutter.

ticket: practice
class: host-growth
holder: job vessel fixes
cause: reference-cycle
"""
import gc
import heapq
import itertools
import math
import os
import random
import time

TICKS_A_SECOND = 10
ARRIVALS = 8
FIXES_A_TICK = 14
PILOTS = 320
BERTHS = {"oil jetty": (9.0, 4.0), "container quay": (12.0, -2.0), "fish dock": (6.5, 1.0), "cruise pier": (11.0, 6.0)}


class Fix:
    __slots__ = ("minute", "east", "north", "knots")

    def __init__(self, minute, east, north, knots):
        self.minute = minute
        self.east = east
        self.north = north
        self.knots = knots


class Pilot:
    def __init__(self, number):
        self.number = number
        self.jobs_done = 0
        self.miles = 0.0


class Vessel:
    def __init__(self, number, dice):
        self.name = f"MV {number:06d}"
        self.draught = dice.uniform(4, 14)
        self.knots = dice.uniform(5, 9)
        self.berth = dice.choice(list(BERTHS))
        self.east, self.north = dice.uniform(-1, 0), dice.uniform(-3, 3)
        self.fixes = []
        self.job = None

    def label(self):
        return f"{self.name} (pilot {self.job.pilot.number})"

    def sail(self, minute, minutes):
        """One tick of way towards the berth; true when it is alongside."""
        goal_east, goal_north = BERTHS[self.berth]
        step = self.knots / 60 * minutes / FIXES_A_TICK
        for part in range(FIXES_A_TICK):
            east, north = goal_east - self.east, goal_north - self.north
            left = math.hypot(east, north)
            if left < step:
                return True
            self.east += east / left * step
            self.north += north / left * step
            self.fixes.append(Fix(minute + minutes * part / FIXES_A_TICK, self.east, self.north, self.knots))  # grows
        return False


class Job:
    """One way in: who brings which vessel, and since when."""

    def __init__(self, vessel, pilot, minute):
        self.vessel = vessel
        self.pilot = pilot
        self.since = minute
        vessel.job = self  # keeps

    def bill(self, minute):
        miles = sum(fix.knots for fix in self.vessel.fixes) / 60 * 2 / FIXES_A_TICK
        self.pilot.miles += miles
        self.pilot.jobs_done += 1
        return 120 + 18 * self.vessel.draught + 25 * miles + 2 * (minute - self.since)


class Station:
    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.free = [Pilot(number) for number in range(PILOTS)]
        self.numbers = itertools.count(1)
        self.roads, self.under_way, self.launches = [], [], []
        self.minute, self.income, self.berthed = 0, 0.0, 0

    def tick(self, minutes=2):
        self.roads.extend(Vessel(next(self.numbers), self.dice) for _ in range(ARRIVALS))
        while self.launches and self.launches[0][0] <= self.minute:
            self.free.append(heapq.heappop(self.launches)[2])
        while self.roads and self.free:
            self.under_way.append(Job(self.roads.pop(0), self.free.pop(), self.minute))
        sailing = []
        for job in self.under_way:
            if job.vessel.sail(self.minute, minutes):
                self.income += job.bill(self.minute)
                self.berthed += 1
                heapq.heappush(self.launches, (self.minute + 6, job.pilot.number, job.pilot))
            else:
                sailing.append(job)
        self.under_way = sailing
        self.minute += minutes

    def deepest(self):
        vessels = [job.vessel for job in self.under_way]
        return max(vessels, key=lambda vessel: vessel.draught).label() if vessels else "none"


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    gc.disable()
    station = Station(seed=31)
    ticks, started = 0, time.time()
    while time.time() < end:
        station.tick()
        ticks += 1
        if ticks % 35 == 0:
            print(f"minute {station.minute}: {len(station.under_way)} under way, {station.berthed} berthed, "
                  f"deepest {station.deepest()}, income {station.income:.0f}", flush=True)
        time.sleep(max(0.0, started + ticks / TICKS_A_SECOND - time.time()))


if __name__ == "__main__":
    main()
