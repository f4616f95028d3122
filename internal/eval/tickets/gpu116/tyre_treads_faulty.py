"""Looks after the tyres of the buses of a depot.

When a bus comes in, a drive-over scanner measures the tread of its six tyres. The fitters compare treads within
the bus, rotate tyres or take worn ones off; buses go back into service or move on to another depot of the city.

ticket: practice
class: app-leak
holder: _treads
cause: entries-left
"""
import os
import random
import time
from dataclasses import dataclass, field

import cupy as cp

SECONDS = float(os.environ.get("SECONDS", "120"))
TYRES = 6
AROUND, ACROSS = 384, 96
STANDS = 16
WORN = 3.0
ROUNDS_PER_SECOND = 10


@dataclass
class Bus:
    number: int
    tyres: list = field(default_factory=list)
    visits: int = 0


class Scanner:
    """Tread in millimetres over the roll of a tyre."""

    def __init__(self, seed):
        self.rng = cp.random.RandomState(seed)
        self.grooves = 7.0 + cp.sin(cp.linspace(0, 40, ACROSS, dtype=cp.float32))

    def scan(self, wear):
        rough = self.rng.standard_normal((AROUND, ACROSS), dtype=cp.float32)
        return self.grooves - wear + 0.2 * rough  # grows


class TyreIndex:
    """The tread of every tyre in the depot, by the serial burnt into its flank."""

    def __init__(self):
        self._treads = {}
        self.serial = 0

    def enter(self, tread):
        self.serial += 1
        self._treads[self.serial] = tread  # keeps
        return self.serial

    def remove(self, serial):
        self._treads.pop(serial, None)

    def depth(self, serial):
        return float(self._treads[serial].mean())

    def wear_down(self, serial, millimetres):
        tread = self._treads[serial]
        cp.maximum(tread - cp.float32(millimetres), 0, out=tread)


class TyreShop:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.scanner = Scanner(seed)
        self.index = TyreIndex()
        self.stands = []
        self.buses = 0
        self.replaced = 0
        self.moved = 0
        self.retired = 0

    def fit(self, bus, wear):
        bus.tyres.append(self.index.enter(self.scanner.scan(wear)))

    def come_in(self):
        self.buses += 1
        bus = Bus(self.buses)
        for _ in range(TYRES):
            self.fit(bus, self.rng.uniform(0.0, 3.0))
        self.stands.append(bus)

    def service(self, bus):
        bus.visits += 1
        for serial in list(bus.tyres):
            self.index.wear_down(serial, self.rng.uniform(0.0, 1.5))
            if self.index.depth(serial) < WORN:
                bus.tyres.remove(serial)
                self.index.remove(serial)
                self.fit(bus, 0.0)
                self.replaced += 1

    def retire(self, bus):
        self.stands.remove(bus)
        for serial in bus.tyres:
            self.index.remove(serial)
        self.retired += 1

    def move_on(self, bus):
        self.stands.remove(bus)
        self.moved += 1

    def round(self):
        self.come_in()
        bus = self.rng.choice(self.stands)
        self.service(bus)
        if len(self.stands) > STANDS:
            oldest = self.stands[0]
            if self.rng.random() < 0.4:
                self.retire(oldest)
            else:
                self.move_on(oldest)
        return self.index.depth(self.stands[-1].tyres[0])


def main():
    shop = TyreShop(seed=53)
    begun = time.monotonic()
    next_line = begun + 2.0
    depth = 0.0
    while time.monotonic() - begun < SECONDS:
        started = time.monotonic()
        depth = shop.round()
        if started >= next_line:
            print(
                f"bus {shop.buses}: {shop.replaced} tyres replaced, {shop.moved} moved on, tread {depth:.1f} mm",
                flush=True,
            )
            next_line += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - started)))
    print(f"shop closed after {shop.buses} buses, {shop.moved} moved on, {shop.retired} retired", flush=True)


if __name__ == "__main__":
    main()
