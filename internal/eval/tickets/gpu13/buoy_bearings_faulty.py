"""Buoys with rings of hydrophones tell where ships are heard, with cupy (a GPU only). A thread works for each buoy that
has called in, so that a slow one holds up no other. Buoys drift off and are heard of no more, while others call in
for the first time; a thread waits for what its buoy sends next, and has a handle of cuBLAS for itself.

ticket: practice
class: driver-growth
holder: -
cause: threads-kept handle-leak
"""

import math
import os
import queue
import random
import threading
import time

import cupy as cp
import numpy as np

PHONES, BEARINGS, TONES, TIMES = 32, 360, 24, 48


def steering():
    """What a ring of hydrophones hears of a wave from each bearing, for each tone."""
    places = 2 * cp.pi * cp.arange(PHONES) / PHONES
    bearings = 2 * cp.pi * cp.arange(BEARINGS) / BEARINGS
    tones = cp.linspace(0.5, 3.0, TONES)
    delays = cp.cos(bearings[:, None] - places)
    return cp.exp(1j * tones[:, None, None] * delays).astype(cp.complex64)


class Buoy:
    """Sends spectra of what is heard, while it is there: a ship or two, and the sea."""

    def __init__(self, number):
        self.name, self.luck = f"buoy{number}", np.random.default_rng(number)
        self.gone = time.time() + random.uniform(4, 8)
        self.ships = self.luck.uniform(0, 2 * math.pi, self.luck.integers(1, 3))

    def hear(self):
        places = 2 * np.pi * np.arange(PHONES) / PHONES
        tones = np.linspace(0.5, 3.0, TONES)
        heard = self.luck.normal(0, 1, (2, TONES, PHONES, TIMES)).astype(np.float32)
        heard = heard[0] + 1j * heard[1]
        for ship in self.ships:
            wave = np.exp(1j * tones[:, None] * np.cos(ship - places))
            heard += 0.7 * wave[:, :, None] * self.luck.normal(0, 1, (TONES, 1, TIMES))
        self.ships += 0.01
        return heard.astype(np.complex64)


class Station:
    """Works out the bearings of what the buoys hear."""

    def __init__(self):
        self.steering, self.buoys, self.lock = steering(), {}, threading.Lock()
        self.answers, self.bearing = 0, None

    def receive(self, name, heard):
        if name not in self.buoys:
            self.buoys[name] = queue.Queue(4)
            threading.Thread(target=self.work, args=(name, self.buoys[name]), daemon=True).start()  # keeps
        try:
            self.buoys[name].put_nowait(heard)
        except queue.Full:
            pass

    def work(self, name, inbox):
        while True:
            heard = inbox.get()
            if heard is None:
                return
            loudest = self.loudest(cp.asarray(heard))
            with self.lock:
                self.answers += 1
                self.bearing = (name, loudest)

    def loudest(self, heard):
        power = cp.zeros(BEARINGS, cp.float32)
        for tone in range(TONES):
            beams = cp.dot(self.steering[tone].conj(), heard[tone])  # grows
            power += (beams.real ** 2 + beams.imag ** 2).mean(axis=1)
        return int(power.argmax())

    def close(self):
        for inbox in self.buoys.values():
            inbox.put(None)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    station, buoys, number, said = Station(), [], 0, time.time()
    while time.time() < end:
        buoys = [buoy for buoy in buoys if time.time() < buoy.gone]
        if len(buoys) < 4:
            buoys.append(Buoy(number))
            number += 1
        for buoy in random.sample(buoys, random.randint(1, len(buoys))):
            station.receive(buoy.name, buoy.hear())
            time.sleep(random.uniform(0.02, 0.1))
        if time.time() - said > 2:
            said = time.time()
            print(station.answers, "bearings,", len(buoys), "buoys of", number, "last", station.bearing, flush=True)
    station.close()


if __name__ == "__main__":
    main()
