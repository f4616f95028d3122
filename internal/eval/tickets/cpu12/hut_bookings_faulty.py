"""Front desk of a chain of mountain huts.

Walkers book bunks, come in from the trail, and leave again, mostly long before their booking runs out.
For every booking the desk enters an hour at which the bunks are given free should nobody turn up at all, and it
prepares a map of the way to the hut that the warden can show to the party.

ticket: practice
class: host-growth
holder: _agenda
cause: timers-left
"""
import heapq
import os
import sched
import time
from dataclasses import dataclass

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "45"))
ROUNDS_PER_SECOND = 10
HUTS = ("Lower Alp", "Saddle", "Glacier Edge", "Chapel", "Larch Wood", "Blue Lake")
BUNKS = 36
NO_SHOW_AFTER = 6 * 3600.0


@dataclass
class Booking:
    number: int
    hut: str
    party: int
    way: np.ndarray
    present: bool = False


class Terrain:
    """Height model of the range; every way is cut from it and shaded."""

    def __init__(self, rng, side=2600):
        ridges = np.cumsum(rng.normal(0.0, 4.0, (side, side)).astype(np.float32), axis=1)
        self.heights = 1600.0 + ridges
        self.rng = rng

    def way_to(self, hut):
        row = int(self.rng.integers(0, 2000)) + HUTS.index(hut)
        column = int(self.rng.integers(0, 2000))
        window = self.heights[row:row + 400, column:column + 400]
        slope = np.diff(window, axis=1, prepend=window[:, :1])
        return np.hypot(slope, window - window.mean())  # grows


class Desk:
    def __init__(self, terrain, rng):
        self.terrain = terrain
        self.rng = rng
        self.free = {hut: BUNKS for hut in HUTS}
        self._agenda = sched.scheduler(time.monotonic, time.sleep)
        self._no_shows = {}
        self._guests = {}
        self._departures = []
        self._next_number = 1
        self.nights = 0
        self.refused = 0

    def book(self):
        hut = HUTS[int(self.rng.integers(0, len(HUTS)))]
        party = int(self.rng.integers(1, 5))
        if self.free[hut] < party:
            self.refused += 1
            return None
        booking = Booking(self._next_number, hut, party, self.terrain.way_to(hut))
        self._next_number += 1
        self.free[hut] -= party
        entry = self._agenda.enter(NO_SHOW_AFTER, 1, self.give_up, argument=(booking,))  # keeps
        self._no_shows[booking.number] = entry
        return booking

    def give_up(self, booking):
        self._no_shows.pop(booking.number, None)
        if not booking.present:
            self.free[booking.hut] += booking.party

    def arrive(self, booking, now):
        booking.present = True
        self._no_shows.pop(booking.number)
        self._guests[booking.number] = booking
        stay = float(self.rng.uniform(0.4, 1.8))
        heapq.heappush(self._departures, (now + stay, booking.number))

    def see_off(self, now):
        while self._departures and self._departures[0][0] <= now:
            _, number = heapq.heappop(self._departures)
            booking = self._guests.pop(number)
            self.free[booking.hut] += booking.party
            self.nights += booking.party

    def turn(self, now):
        self._agenda.run(blocking=False)
        self.see_off(now)

    def steepest(self):
        ways = [booking.way.max() for booking in self._guests.values()]
        return float(max(ways, default=0.0))


def main():
    rng = np.random.default_rng(41)
    desk = Desk(Terrain(rng), rng)
    end = time.monotonic() + SECONDS
    report_at = time.monotonic() + 3.0
    expected = []
    while time.monotonic() < end:
        began = time.monotonic()
        desk.turn(began)
        for booking in expected:
            desk.arrive(booking, began)
        fresh = (desk.book() for _ in range(int(rng.integers(1, 3))))
        expected = [booking for booking in fresh if booking is not None]
        if time.monotonic() >= report_at:
            taken = len(HUTS) * BUNKS - sum(desk.free.values())
            print(f"{taken} bunks taken, {desk.nights} nights sold, steepest {desk.steepest():.0f}", flush=True)
            report_at += 3.0
        time.sleep(max(0.005, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - began)))
    print(f"season over: {desk.nights} nights sold, {desk.refused} parties refused", flush=True)


if __name__ == "__main__":
    main()
