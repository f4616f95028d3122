"""Ground station that follows sondes under weather balloons.

A balloon goes up every few moments, and the station fills a profile of
height against measured quantity from the telegrams of its sonde. A flight
ends when the balloon bursts, or when the wind carries it beyond the
horizon and the signal is lost. Of a burst flight the whole profile is
summed up for the bulletin, of a lost one only the height reached.

ticket: practice
class: none
"""

import os
import random
import time

import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 1.0 / 6.0
LEVELS = 2048
QUANTITIES = 256
CEILING = 30000.0
HORIZON = 150.0


class Atmosphere:
    """Mean state of the air at all levels, for some days of the month."""

    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)
        height = torch.linspace(0.0, 1.0, LEVELS)[:, None]
        slope = torch.rand((16, 1, QUANTITIES), generator=generator) * 2.0 - 1.0
        wiggle = torch.rand((16, LEVELS, QUANTITIES), generator=generator) * 0.05
        self._days = (height * slope + wiggle).to(DEVICE)

    def slab(self, day, low, high):
        return self._days[day % 16, low:high]


class Sonde:
    """Position of one sonde on its way up."""

    def __init__(self, serial, day, climb, drift):
        self.serial = serial
        self.day = day
        self.climb = climb
        self.drift = drift
        self.height = 0.0
        self.distance = 0.0

    @property
    def level(self):
        return min(LEVELS, int(self.height / CEILING * LEVELS))

    def rise(self):
        low = self.level
        self.height += self.climb
        self.distance += self.drift
        return low, self.level

    @property
    def burst(self):
        return self.height >= CEILING

    @property
    def out_of_range(self):
        return self.distance >= HORIZON


class ProfileBook:
    """Profiles of the flights under way, by the serial of the sonde."""

    def __init__(self):
        self._profiles = {}

    def open(self, serial):
        profile = torch.zeros((LEVELS, QUANTITIES), device=DEVICE)
        self._profiles[serial] = profile

    def enter(self, serial, low, slab):
        self._profiles[serial][low:low + slab.shape[0]] = slab

    def close(self, serial):
        return self._profiles.pop(serial)


class GroundStation:
    """Launches, follows and signs off the sondes."""

    def __init__(self, atmosphere, seed):
        self.atmosphere = atmosphere
        self.book = ProfileBook()
        self._random = random.Random(seed)
        self._aloft = {}
        self._launched = 0
        self.bursts = 0
        self.lost = 0
        self.reached = 0.0
        self.bulletin = 0.0

    def launch(self):
        self._launched += 1
        windy = self._launched % 2 == 0
        drift = self._random.uniform(20.0, 24.0) if windy else self._random.uniform(4.0, 9.0)
        sonde = Sonde(f"RS{self._launched:05d}", self._launched, self._random.uniform(2600.0, 3200.0), drift)
        self._aloft[sonde.serial] = sonde
        self.book.open(sonde.serial)

    def receive(self):
        for sonde in list(self._aloft.values()):
            low, high = sonde.rise()
            self.book.enter(sonde.serial, low, self.atmosphere.slab(sonde.day, low, high))
            if sonde.burst:
                self._sign_off(sonde)
            elif sonde.out_of_range:
                self._lose(sonde)

    def _sign_off(self, sonde):
        del self._aloft[sonde.serial]
        profile = self.book.close(sonde.serial)
        self.bulletin = 0.9 * self.bulletin + 0.1 * float(profile.mean())
        self.bursts += 1

    def _lose(self, sonde):
        del self._aloft[sonde.serial]
        self.book.close(sonde.serial)
        self.reached = max(self.reached, sonde.height)
        self.lost += 1


def main():
    station = GroundStation(Atmosphere(seed=14), seed=15)
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        station.launch()
        station.receive()
        rounds += 1
        if rounds % 18 == 0:
            print(f"burst {station.bursts:4d}  lost {station.lost:4d}  bulletin {station.bulletin:+.4f}", flush=True)
        time.sleep(max(0.0, start + rounds * ROUND - time.monotonic()))
    print(f"watch over: {station.bursts} bursts, {station.lost} lost, best {station.reached:.0f} m", flush=True)


if __name__ == "__main__":
    main()
