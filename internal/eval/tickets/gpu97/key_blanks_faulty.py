"""Counter of a locksmith's key-copying bench.

Customers hand in worn keys. Each key is scanned to a height map, fitted to the nearest blank of the
rack and milled in passes until the copy is within tolerance. Keys that are too worn for a safe copy
are handed back with advice to change the lock.

ticket: practice
class: app-leak
holder: _customers
cause: sessions-kept
"""
import itertools
import os
import time
from collections import Counter, deque

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
LENGTH, WIDTH = 768, 512
BLANKS = 24
VICES = 6
ROUNDS_PER_SECOND = 8


class Customer:
    """One visit at the counter, with the key that was handed in."""

    def __init__(self, ticket, scan, wear):
        self.ticket = ticket
        self.scan = scan
        self.wear = wear
        self.blank = None
        self.passes = 0
        self.error = float("inf")


class BlankRack:
    def __init__(self, generator):
        self.profiles = torch.rand(BLANKS, WIDTH, generator=generator).to(DEVICE)

    def nearest(self, scan):
        section = scan.mean(dim=0)
        distance = (self.profiles - section).pow(2).sum(dim=1)
        return int(distance.argmin())


class CopyingBench:
    WEAR_LIMIT = 0.55
    TOLERANCE = 0.12

    def __init__(self, seed=77):
        self.generator = torch.Generator().manual_seed(seed)
        self.rack = BlankRack(self.generator)
        self._tickets = itertools.count(1)
        self._customers = {}
        self._vices = deque()
        self.tally = Counter()

    def welcome(self):
        """A new customer takes a ticket and the key goes under the scanner."""
        wear = float(torch.rand((), generator=self.generator))
        relief = torch.rand(LENGTH, 1, generator=self.generator).to(DEVICE)
        grain = torch.rand(1, WIDTH, generator=self.generator).to(DEVICE)
        scan = relief * (1.0 - 0.4 * wear) + 0.1 * grain  # grows
        customer = Customer(next(self._tickets), scan, wear)
        self._customers[customer.ticket] = customer  # keeps
        self._vices.append(customer.ticket)
        return customer

    def work(self):
        """Take the key in the first vice one step further."""
        ticket = self._vices.popleft()
        customer = self._customers[ticket]
        if customer.blank is None:
            self._choose_blank(customer)
        else:
            self._mill(customer)

    def _choose_blank(self, customer):
        if customer.wear > self.WEAR_LIMIT:
            self._hand_back(customer)
            return
        customer.blank = self.rack.nearest(customer.scan)
        self._vices.append(customer.ticket)

    def _mill(self, customer):
        cutter = self.rack.profiles[customer.blank]
        depth = 0.5 ** customer.passes
        customer.error = float(((customer.scan - cutter).abs() * depth).mean())
        customer.passes += 1
        if customer.error <= self.TOLERANCE:
            self._hand_over(customer)
        else:
            self._vices.append(customer.ticket)

    def _hand_over(self, customer):
        self.tally["copied"] += 1
        self.tally["passes"] += customer.passes
        del self._customers[customer.ticket]

    def _hand_back(self, customer):
        self.tally["handed back"] += 1
        self.tally["advice"] += customer.wear > 0.8

    def free_vices(self):
        return VICES - len(self._vices)


def main():
    bench = CopyingBench()
    start = time.monotonic()
    next_line = start + 3.0
    while time.monotonic() - start < SECONDS:
        if bench.free_vices() > 0:
            bench.welcome()
        for _ in range(3):
            if bench.free_vices() < VICES:
                bench.work()
        if time.monotonic() >= next_line:
            next_line += 3.0
            tally = bench.tally
            held = VICES - bench.free_vices()
            print(f"copied {tally['copied']}, handed back {tally['handed back']}, in the vices {held}", flush=True)
        time.sleep(1.0 / ROUNDS_PER_SECOND)
    print(f"closing: {bench.tally['copied']} copies in {bench.tally['passes']} passes", flush=True)


if __name__ == "__main__":
    main()
