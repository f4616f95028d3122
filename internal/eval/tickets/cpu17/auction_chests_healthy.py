"""The sample room of a tea auction prepares an infusion profile for every chest that comes under the hammer.
Buyers call profiles up by lot number while the lot is on the board. Some lots fail to reach their reserve,
are weighed again and entered for the evening sale under a new number with a corrected profile.

ticket: practice
class: none
"""
import os
import time
from collections import OrderedDict, deque

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 6
IDLE_S = 8.0
REPORT_EVERY_S = 2.5
STEEPS, WAVELENGTHS = 120, 480
GRADES = ("OP", "BOP", "FBOP", "GFOP", "Dust")


class Sample:
    """One chest as the tasters know it: absorbance by steeping time and wavelength."""

    def __init__(self, lot, grade, profile, kilos):
        self.lot = lot
        self.grade = grade
        self.profile = profile
        self.kilos = kilos

    def briskness(self):
        early, late = self.profile[: STEEPS // 4], self.profile[-STEEPS // 4:]
        return float(late.mean() - early.mean())


class TastingBench:
    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)
        self._steep = np.linspace(0.0, 6.0, STEEPS, dtype=np.float32)[:, None]
        self._band = np.linspace(350.0, 700.0, WAVELENGTHS, dtype=np.float32)[None, :]

    def infuse(self, lot):
        rate = self._rng.uniform(0.3, 0.9)
        peak = self._rng.uniform(440.0, 480.0)
        profile = (1.0 - np.exp(-rate * self._steep)) * np.exp(-((self._band - peak) / 60.0) ** 2)
        profile += self._rng.standard_normal(profile.shape, dtype=np.float32) * np.float32(0.01)
        return Sample(lot, str(self._rng.choice(GRADES)), profile, float(self._rng.uniform(20, 60)))

    def reweigh(self, sample, lot):
        kilos = sample.kilos * float(self._rng.uniform(0.96, 1.0))
        corrected = sample.profile * np.float32(kilos / sample.kilos)
        return Sample(lot, sample.grade, corrected, kilos)


class SampleRegister:
    """Profiles by lot number; a lot nobody has called up for a while leaves the board."""

    def __init__(self, idle_s):
        self._idle_s = idle_s
        self._by_lot = {}
        self._last_use = OrderedDict()

    def _touch(self, lot):
        self._last_use[lot] = time.monotonic()
        self._last_use.move_to_end(lot)

    def enter(self, sample):
        self._by_lot[sample.lot] = sample
        self._touch(sample.lot)

    def enter_for_evening(self, sample):
        self._by_lot[sample.lot] = sample
        self._touch(sample.lot)

    def call_up(self, lot):
        sample = self._by_lot.get(lot)
        if sample is not None:
            self._touch(lot)
        return sample

    def expire(self):
        horizon = time.monotonic() - self._idle_s
        while self._last_use:
            lot, used = next(iter(self._last_use.items()))
            if used > horizon:
                break
            del self._last_use[lot]
            del self._by_lot[lot]


class AuctionDay:
    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)
        self._bench = TastingBench(seed + 1)
        self.register = SampleRegister(IDLE_S)
        self._board = deque(maxlen=24)
        self._number = 0
        self.sold = 0
        self.unsold = 0

    def _next_number(self, prefix):
        self._number += 1
        return f"{prefix}{self._number:06d}"

    def open_lots(self, count):
        for _ in range(count):
            sample = self._bench.infuse(self._next_number("L"))
            self.register.enter(sample)
            self._board.append(sample.lot)

    def hammer(self, count):
        for lot in self._rng.choice(list(self._board), size=min(count, len(self._board)), replace=False):
            sample = self.register.call_up(str(lot))
            if sample is None:
                continue
            if sample.briskness() * self._rng.uniform(0.5, 1.5) > 0.2:
                self.sold += 1
                continue
            self.unsold += 1
            again = self._bench.reweigh(sample, self._next_number("R"))
            self.register.enter_for_evening(again)


def main():
    day = AuctionDay(seed=71)
    began = time.monotonic()
    reported = began
    while (now := time.monotonic()) - began < SECONDS:
        day.open_lots(2)
        day.hammer(5)
        day.register.expire()
        if now - reported >= REPORT_EVERY_S:
            print(f"{now - began:6.1f} s  sold {day.sold}  below reserve {day.unsold}", flush=True)
            reported = now
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - now)))
    print(f"the last hammer: {day.sold} sold, {day.unsold} below reserve", flush=True)


if __name__ == "__main__":
    main()
