"""Booking desk of a vehicle ferry over a wide river.

A driver books a place, and the desk works out a load plan of the deck for the weight of the vehicle. The booking lapses
when the vehicle has not been seen two hours after it was made. At the next sailing the vehicles in the queue drive on,
and the plans are added up to the trim of the boat.

ticket: practice
class: host-growth
holder: _due
cause: timers-left
"""
import heapq
import itertools
import os
import time
from collections import deque

import numpy as np

RUN_SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
DECK_ROWS = 160
DECK_COLUMNS = 420
SAILING_ROUNDS = 8
LAPSE_SECONDS = 7200.0


class Agenda:
    """Calls to be made at a later time, the nearest first."""

    def __init__(self, clock=time.monotonic):
        self.clock = clock
        self._due = []
        self._tickets = itertools.count(1)

    def after(self, seconds, action, *arguments):
        ticket = next(self._tickets)
        heapq.heappush(self._due, (self.clock() + seconds, ticket, action, arguments))  # keeps
        return ticket

    def cancel(self, ticket):
        self._due = [call for call in self._due if call[1] != ticket]
        heapq.heapify(self._due)

    def run_due(self):
        now = self.clock()
        while self._due and self._due[0][0] <= now:
            _, _, action, arguments = heapq.heappop(self._due)
            action(*arguments)


class Booking:
    def __init__(self, number, tonnes, plan):
        self.number = number
        self.tonnes = tonnes
        self.plan = plan
        self.ticket = None
        self.state = "booked"


class FerryBoat:
    def __init__(self, limit):
        self.limit = limit
        self.deck = np.zeros((DECK_ROWS, DECK_COLUMNS))
        self.load = 0.0
        self.sailings = 0
        self.vehicles = 0
        self.trim = 0.0

    def drive_on(self, booking):
        self.deck += booking.plan
        self.load += booking.tonnes
        self.vehicles += 1

    def sail(self):
        half = DECK_ROWS // 2
        self.trim = float(self.deck[:half].sum() - self.deck[half:].sum())
        self.deck[:] = 0.0
        self.load = 0.0
        self.sailings += 1


class BookingDesk:
    def __init__(self, agenda, boat, seed):
        self.agenda = agenda
        self.boat = boat
        self.rng = np.random.default_rng(seed)
        self.queue = deque()
        self.booked = 0
        self.lapsed = 0

    def load_plan(self, tonnes):
        plan = self.rng.random((DECK_ROWS, DECK_COLUMNS))  # grows
        plan *= tonnes / plan.sum()
        return plan

    def book(self):
        self.booked += 1
        tonnes = float(self.rng.gamma(3.0, 1.5))
        booking = Booking(self.booked, tonnes, self.load_plan(tonnes))
        booking.ticket = self.agenda.after(LAPSE_SECONDS, self.lapse, booking)  # keeps
        self.queue.append(booking)

    def lapse(self, booking):
        if booking.state == "booked":
            booking.state = "lapsed"
            self.queue.remove(booking)
            self.lapsed += 1

    def board(self):
        while self.queue and self.boat.load + self.queue[0].tonnes <= self.boat.limit:
            booking = self.queue.popleft()
            booking.state = "on board"
            self.boat.drive_on(booking)


def main():
    agenda = Agenda()
    boat = FerryBoat(limit=120.0)
    desk = BookingDesk(agenda, boat, seed=1956)
    rounds = 0
    start = time.monotonic()
    next_line = 2.0
    while (elapsed := time.monotonic() - start) < RUN_SECONDS:
        desk.book()
        agenda.run_due()
        rounds += 1
        if rounds % SAILING_ROUNDS == 0:
            desk.board()
            boat.sail()
        if elapsed >= next_line:
            print(f"{elapsed:6.1f}s booked {desk.booked} on board {boat.vehicles} sailings {boat.sailings} "
                  f"trim {boat.trim:+.2f} t", flush=True)
            next_line += 2.0
        time.sleep(1.0 / ROUNDS_PER_SECOND)
    print(f"last sailing done: {boat.vehicles} vehicles in {boat.sailings} sailings, {desk.lapsed} lapsed", flush=True)


if __name__ == "__main__":
    main()
