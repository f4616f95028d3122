"""Wristbands of the skaters on an ice rink.

Every skater gets a wristband at the gate. Antennas under the ice tell where the wristbands are, and for each skater a
private map of the visited squares is drawn, from which the rink computes how crowded the corners are and how far a
skater has gone. The clock of the simulation is driven by a calendar of events: arrivals, rounds and departures.

ticket: practice
class: host-growth
holder: wristbands
cause: sessions-kept
"""
import heapq
import os
import time

import numpy as np

RINK = (150, 300)
ARRIVALS_PER_SECOND = 12.0
ROUND = 0.25
STAY = (1.0, 2.5)


class Skater:
    """One visitor: place, direction and the private map."""

    def __init__(self, number, rng):
        self.number = number
        self.place = np.array([rng.uniform(0, RINK[0]), rng.uniform(0, RINK[1])])
        self.heading = rng.uniform(0.0, 6.28)
        self.speed = rng.uniform(6.0, 14.0)
        self.visited = np.full(RINK, 0.01)  # grows
        self.distance = 0.0
        self.on_ice = True

    def glide(self, rng):
        self.heading += rng.normal(0.0, 0.4)
        move = self.speed * np.array([np.sin(self.heading), np.cos(self.heading)])
        self.place = np.clip(self.place + move, 0, np.array(RINK) - 1)
        row, column = self.place.astype(int)
        self.visited[max(0, row - 3):row + 4, max(0, column - 3):column + 4] += 1.0
        self.distance += float(np.hypot(*move))

    def corner_share(self):
        corner = self.visited[:30, :30].sum() + self.visited[-30:, -30:].sum()
        return corner / self.visited.sum()


class Rink:
    """The gate and the antennas."""

    def __init__(self, rng):
        self.rng = rng
        self.wristbands = {}
        self.issued = 0
        self.departed = 0
        self.metres = 0.0
        self.crowding = 0.0

    def enter(self):
        self.issued += 1
        self.wristbands[self.issued] = Skater(self.issued, self.rng)  # keeps
        return self.issued

    def round(self):
        skaters = [skater for skater in self.wristbands.values() if skater.on_ice]
        for skater in skaters:
            skater.glide(self.rng)
        if skaters:
            share = sum(skater.corner_share() for skater in skaters) / len(skaters)
            self.crowding = 0.8 * self.crowding + 0.2 * share

    def leave(self, number):
        skater = self.wristbands[number]
        skater.on_ice = False
        self.departed += 1
        self.metres += skater.distance


class Calendar:
    """Events in the order of their time."""

    def __init__(self):
        self.events = []
        self.serial = 0

    def note(self, when, kind, number=0):
        self.serial += 1
        heapq.heappush(self.events, (when, self.serial, kind, number))

    def next(self):
        when, _, kind, number = heapq.heappop(self.events)
        return when, kind, number


def play(rink, calendar, end):
    """Takes events from the calendar and acts on each when it is due."""
    while True:
        when, kind, number = calendar.next()
        if when > end:
            return
        time.sleep(max(0.0, when - time.time()))
        if kind == "arrival":
            band = rink.enter()
            calendar.note(when + rink.rng.uniform(*STAY), "departure", band)
            calendar.note(when + rink.rng.uniform(0.8, 1.2) / ARRIVALS_PER_SECOND, "arrival")
        elif kind == "round":
            rink.round()
            calendar.note(when + ROUND, "round")
        elif kind == "departure":
            rink.leave(number)
        else:
            print(f"issued {rink.issued} departed {rink.departed} metres {rink.metres:.0f} "
                  f"corners {rink.crowding:.3f}", flush=True)
            calendar.note(when + 3.0, "notice")


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    rink, calendar, now = Rink(np.random.default_rng(19)), Calendar(), time.time()
    for delay, kind in ((0.0, "arrival"), (ROUND, "round"), (2.0, "notice")):
        calendar.note(now + delay, kind)
    play(rink, calendar, end)
    print(f"rink closed, {rink.departed} skaters went home", flush=True)


if __name__ == "__main__":
    main()
