"""The weighing floor of a fish market.

Every box of mackerel goes over a belt scale, which gives a trace of the load; the floor works out the net weight from
it and writes a sale to a cash buyer or to a house with credit. Twice a minute the cashier comes round and settles:
cash goes into the till, credit is booked to the house's account, and the day's disputes are looked into.

ticket: practice
class: none
"""
import os
import time
from collections import defaultdict

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
SETTLE_EVERY = 30.0
TRACE = 16_000
HOUSES = ("Amundsen", "Braga", "Correia", "Dahl", "Eriksen")


class BeltScale:
    """Load cell under a moving belt: a plateau with the shudder of the motor on it."""

    def __init__(self, rng):
        self.rng = rng
        self.shudder = rng.normal(0.0, 0.15, size=(300, TRACE))
        ramp = np.minimum(1.0, np.linspace(0.0, 12.0, TRACE))
        self.plateau = ramp * ramp[::-1]

    def weigh(self, kilos):
        motor = self.shudder[int(self.rng.integers(len(self.shudder)))]
        return self.plateau * kilos + motor


class Sale:
    """A box sold, with the trace in case the buyer disputes its weight."""

    def __init__(self, number, buyer, terms, trace, price):
        self.number = number
        self.buyer = buyer
        self.terms = terms
        self.trace = trace
        self.price = price
        self.kilos = float(np.median(trace[TRACE // 4: -TRACE // 4]))
        self.booked = False
        self.settled = False

    @property
    def amount(self):
        return self.kilos * self.price

    def disputed(self):
        middle = self.trace[TRACE // 4: -TRACE // 4]
        return abs(float(middle.mean()) - self.kilos) > 0.003


class Cashier:
    """Settles sales; knows the till and the accounts of the houses."""

    def __init__(self):
        self.till = 0.0
        self.accounts = defaultdict(float)
        self.disputes = 0

    def settle(self, sale):
        if sale.booked:
            return
        if sale.disputed():
            self.disputes += 1
        if sale.terms == "cash":
            self.till += sale.amount
        else:
            self.accounts[sale.buyer] += sale.amount
        sale.booked = True
        sale.settled = True


class WeighingFloor:
    """Scale, buyers and the sales that wait for the cashier."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.scale = BeltScale(self.rng)
        self.cashier = Cashier()
        self._sales = []
        self.number = 0
        self.kilos = 0.0

    def sell_box(self):
        self.number += 1
        trace = self.scale.weigh(float(self.rng.normal(25.0, 2.0)))
        if self.rng.random() < 0.5:
            buyer, terms = f"stall {int(self.rng.integers(60))}", "cash"
        else:
            buyer, terms = HOUSES[int(self.rng.integers(len(HOUSES)))], "credit"
        sale = Sale(self.number, buyer, terms, trace, float(self.rng.uniform(1.8, 3.2)))
        self.kilos += sale.kilos
        self._sales.append(sale)
        return sale

    def settle_all(self):
        for sale in self._sales:
            self.cashier.settle(sale)
        self._sales = [sale for sale in self._sales if not sale.settled]


def main():
    floor = WeighingFloor(seed=9090)
    started = printed = time.monotonic()
    next_round = SETTLE_EVERY
    while time.monotonic() - started < SECONDS:
        turn = time.monotonic()
        floor.sell_box()
        if turn - started >= next_round:
            next_round += SETTLE_EVERY
            floor.settle_all()
        if turn - printed >= 3.0:
            printed = turn
            print(f"box {floor.number}: {floor.kilos:.0f} kg weighed, till {floor.cashier.till:.0f}, "
                  f"credit {sum(floor.cashier.accounts.values()):.0f}", flush=True)
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - turn)))
    floor.settle_all()
    print(f"floor hosed after {floor.number} boxes, {floor.cashier.disputes} disputes", flush=True)


if __name__ == "__main__":
    main()
