"""Helicopter flights that bring firewood, food and gas to mountain huts.

The dispatcher plans a corridor for every flight from the wind field over the range. Beside each flight a clerk waits
for its outcome and then writes the load and the roughness of the corridor into the log book.
Flights land after some rounds, or are turned back when the wind at the hut gets too strong.

ticket: practice
class: host-growth
holder: flight corridor
cause: threads-left
"""
import os
import threading
import time

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "45"))
ROUNDS_PER_SECOND = 8
HUTS = ("Eagle", "Marmot", "Gentian", "Arnica", "Ptarmigan")
LEVELS, SPAN = 24, 160


class WindField:
    """Wind over the range, in levels; it turns slowly and blows in gusts."""

    def __init__(self, rng):
        self.rng = rng
        self.speed = rng.gamma(4.0, 2.0, (LEVELS, 480, 320)).astype(np.float32)
        self.gust = 1.0

    def blow(self):
        self.gust = 1.0 + 0.7 * (self.gust - 1.0) + float(self.rng.normal(0.0, 0.05))

    def at_hut(self, hut):
        column = 40 + 50 * HUTS.index(hut)
        return self.gust * float(self.speed[4:12, 200:240, column].mean()) + float(self.rng.normal(0.0, 2.0))

    def cut(self, hut):
        row = int(self.rng.integers(0, 320))
        column = int(self.rng.integers(0, 320 - SPAN // 2)) if hut != "Eagle" else 0
        return self.speed[:, row:row + SPAN, column:column + SPAN // 2] * self.gust  # grows


class Flight:
    def __init__(self, number, hut, load, corridor, rounds):
        self.number = number
        self.hut = hut
        self.load = load
        self.corridor = corridor
        self.rounds = rounds
        self.landed = False
        self.settled = threading.Event()


class LogBook:
    def __init__(self):
        self._lock = threading.Lock()
        self.delivered = {hut: 0.0 for hut in HUTS}
        self.roughest = 0.0

    def enter(self, hut, load, roughness):
        with self._lock:
            self.delivered[hut] += load
            self.roughest = max(self.roughest, roughness)

    def total(self):
        with self._lock:
            return sum(self.delivered.values())


class Dispatcher:
    """Sends flights off, follows them, and brings them to their end."""

    def __init__(self, wind, rng):
        self.wind = wind
        self.rng = rng
        self.book = LogBook()
        self._airborne = {}
        self._next_number = 1
        self.turned_back = 0

    def clerk(self, flight):
        flight.settled.wait()
        if flight.landed:
            self.book.enter(flight.hut, flight.load, float(flight.corridor.std()))

    def send(self):
        hut = HUTS[int(self.rng.integers(0, len(HUTS)))]
        load = float(self.rng.uniform(200.0, 900.0))
        corridor = self.wind.cut(hut)
        flight = Flight(self._next_number, hut, load, corridor, int(self.rng.integers(2, 10)))
        self._next_number += 1
        self._airborne[flight.number] = flight
        threading.Thread(target=self.clerk, args=(flight,), daemon=True).start()  # keeps

    def land(self, flight):
        del self._airborne[flight.number]
        flight.landed = True
        flight.settled.set()

    def turn_back(self, flight):
        del self._airborne[flight.number]
        flight.landed = False
        self.turned_back += 1

    def follow(self):
        for flight in list(self._airborne.values()):
            flight.rounds -= 1
            if self.wind.at_hut(flight.hut) > 11.0:
                self.turn_back(flight)
            elif flight.rounds <= 0:
                self.land(flight)


def main():
    rng = np.random.default_rng(67)
    wind = WindField(rng)
    dispatcher = Dispatcher(wind, rng)
    end = time.monotonic() + SECONDS
    report_at = time.monotonic() + 3.0
    while time.monotonic() < end:
        began = time.monotonic()
        wind.blow()
        dispatcher.send()
        dispatcher.follow()
        if time.monotonic() >= report_at:
            print(f"{dispatcher.book.total():.0f} kg flown up, {dispatcher.turned_back} turned back", flush=True)
            report_at += 3.0
        time.sleep(max(0.005, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - began)))
    print(f"flying day over: {dispatcher.book.total():.0f} kg, roughest {dispatcher.book.roughest:.2f}", flush=True)


if __name__ == "__main__":
    main()
