"""A sail loft draws the luff curves of mainsails for masts that bend, each from the yard's bend test of the
boat. The draughtsman fits the curve, spreads it over a mesh of the cloth and gives the office a quote that
prices the cloth, the tape and the hours once the price list of the week is known. On the last day of each week
the office settles the quotes of the week at the prices of that day.

ticket: practice
class: host-growth
holder: _quotes
cause: closure-kept
"""
import os
import time

import numpy as np

STATIONS = 64
MESH_ROWS = 192
MESH_COLUMNS = 160
ROUNDS_PER_SECOND = 9
SAILS_PER_ROUND = 3
DAYS_IN_WEEK = 6


class BendTests:
    """Bend tests of masts: deflection at stations along the mast under several loads."""

    def __init__(self, rng, masts=1200):
        height = np.linspace(0.0, 1.0, STATIONS)
        stiffness = rng.uniform(0.5, 1.6, size=(masts, 1, 1))
        loads = np.linspace(0.2, 1.0, 48)[None, :, None]
        shape = (height * (1.0 - height))[None, None, :]
        self.deflection = 0.35 * loads * shape / stiffness
        self.masts = masts

    def average(self, mast):
        return self.deflection[mast].mean(axis=0)


class PriceList:
    """Prices of cloth, tape and work, which move a little each week."""

    def __init__(self, rng):
        self.rng = rng
        self.cloth = 31.0
        self.tape = 2.4
        self.hour = 58.0

    def renew(self):
        self.cloth = float(np.clip(self.cloth * self.rng.normal(1.0, 0.02), 20.0, 50.0))
        self.tape = float(np.clip(self.tape * self.rng.normal(1.0, 0.03), 1.5, 4.0))
        self.hour = float(np.clip(self.hour * self.rng.normal(1.001, 0.005), 50.0, 80.0))


class Draughtsman:
    """Fits luff curves and spreads them over the cloth."""

    def __init__(self, rng, tests):
        self.rng = rng
        self.tests = tests
        self.basis = np.vander(np.linspace(0.0, 1.0, STATIONS), 6)
        self.fine = np.vander(np.linspace(0.0, 1.0, MESH_ROWS), 6)
        self.chord = np.linspace(0.0, 1.0, MESH_COLUMNS)

    def draw(self):
        mast = int(self.rng.integers(self.tests.masts))
        measured = self.tests.average(mast) + self.rng.normal(0.0, 0.002, STATIONS)
        fit, *_ = np.linalg.lstsq(self.basis, measured, rcond=None)
        curve = self.fine @ fit
        camber = self.rng.uniform(0.07, 0.13) * np.sin(np.pi * self.chord)
        return curve, curve[:, None] * (1.0 - self.chord) + camber  # grows


def make_quote(prices, curve, mesh, area):
    """A price for one sail, worked out when the office asks for it."""

    def quote():
        slope_rows, slope_columns = np.diff(mesh, axis=0), np.diff(mesh, axis=1)
        shaping = float(np.abs(slope_rows).sum() + np.abs(slope_columns).sum())
        luff = 12.0 * float(np.hypot(np.diff(curve), 1.0 / MESH_ROWS).sum())
        return prices.cloth * area * 1.12 + prices.tape * luff + prices.hour * (6.0 + 0.05 * shaping)

    return quote


class Office:
    """Collects the quotes and settles them week by week."""

    def __init__(self, prices):
        self.prices = prices
        self._quotes = []
        self._settled = 0
        self.sails = 0
        self.turnover = 0.0

    def receive(self, quote):
        self._quotes.append(quote)  # keeps
        self.sails += 1

    def settle_week(self):
        self.prices.renew()
        for quote in self._quotes[self._settled:]:
            self.turnover += quote()
        self._settled = len(self._quotes)


def main():
    seconds = float(os.environ.get("SECONDS", "120"))
    rng = np.random.default_rng(1976)
    tests = BendTests(rng)
    prices = PriceList(rng)
    draughtsman = Draughtsman(rng, tests)
    office = Office(prices)
    start = time.monotonic()
    next_report = start + 2.0
    day = 0
    while time.monotonic() - start < seconds:
        began = time.monotonic()
        day += 1
        for _ in range(SAILS_PER_ROUND):
            curve, mesh = draughtsman.draw()
            office.receive(make_quote(prices, curve, mesh, area=rng.uniform(14.0, 60.0)))
        if day % DAYS_IN_WEEK == 0:
            office.settle_week()
        if began >= next_report:
            print(f"{began - start:6.1f} s  day {day}  sails {office.sails}  turnover {office.turnover:.0f}  "
                  f"cloth at {prices.cloth:.2f}", flush=True)
            next_report = began + 2.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - began)))
    office.settle_week()
    print(f"season over: {office.sails} sails for {office.turnover:.0f}", flush=True)


if __name__ == "__main__":
    main()
