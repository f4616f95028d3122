"""Stresses in blown goblets on their way through the annealing oven.

A goblet's rim, bowl and stem cool at different speeds, and each place pulls at all others. The table of these pulls
depends upon the shape of the goblet and the recipe of its glass; it is computed once for each commission, and used
for all goblets of that commission while they lie on the belt. A new commission comes in about every three seconds.

    ticket: practice
    class: app-leak
    holder: _tables
    cause: cache-without-bound
"""

import os
import random
import time
from collections import OrderedDict
from dataclasses import dataclass

import cupy as cp

SECONDS = float(os.environ.get("SECONDS", "120"))
PLACES = 1774
GOBLETS = 48
ROUNDS_PER_SECOND = 8
COMMISSION_EVERY = 3.0
ROOM = 20.0


@dataclass(frozen=True)
class Commission:
    """An order for goblets of one shape, from one pot of glass."""

    number: int
    height: float
    expansion: float

    @property
    def key(self) -> tuple[int, float, float]:
        return self.number, self.height, self.expansion


class OrderBook:
    """Commissions as the shop writes them down."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.written = 0

    def write(self) -> Commission:
        self.written += 1
        height = round(self.rng.uniform(12.0, 26.0), 1)
        return Commission(self.written, height, round(self.rng.uniform(8.5, 10.5), 2))


class PullTables:
    """How much each place of a goblet pulls at each other one, by commission."""

    def __init__(self) -> None:
        self.profile = cp.linspace(0.0, 1.0, PLACES, dtype=cp.float32)
        self._tables: OrderedDict[tuple[int, float, float], cp.ndarray] = OrderedDict()

    def compute(self, commission: Commission) -> cp.ndarray:
        along = self.profile * cp.float32(commission.height)
        apart = cp.abs(along[:, None] - along[None, :])
        apart *= cp.float32(-0.8)
        return cp.exp(apart) * cp.float32(commission.expansion * 1e-3)  # grows

    def of(self, commission: Commission) -> cp.ndarray:
        table = self._tables.get(commission.key)
        if table is None:
            table = self.compute(commission)
            self._tables[commission.key] = table  # keeps
        return table


class Lehr:
    """The annealing oven: a belt of goblets with their temperatures, place by place."""

    def __init__(self, tables: PullTables, seed: int) -> None:
        self.tables = tables
        self.random = cp.random.RandomState(seed)
        self.draughts = self.random.standard_normal((4000, PLACES), dtype=cp.float32)
        self.heat = cp.full((GOBLETS, PLACES), 540.0, dtype=cp.float32)
        self.rounds = 0
        self.cracked = 0

    def load(self) -> None:
        self.heat.fill(540.0)

    def cool(self, commission: Commission) -> float:
        first = (self.rounds * GOBLETS) % (len(self.draughts) - GOBLETS)
        draught = self.draughts[first:first + GOBLETS]
        self.heat -= (self.heat - cp.float32(ROOM)) * cp.float32(0.02)
        self.heat += draught
        uneven = self.heat - self.heat.mean(axis=1, keepdims=True)
        stress = cp.abs(uneven @ self.tables.of(commission)).max(axis=1)
        self.cracked += int((stress > 4.0).sum())
        self.rounds += 1
        return float(stress.mean())


def main() -> None:
    book = OrderBook(random.Random(95))
    lehr = Lehr(PullTables(), seed=95)
    start = time.monotonic()
    commission = book.write()
    next_commission = COMMISSION_EVERY
    while time.monotonic() - start < SECONDS:
        if time.monotonic() - start >= next_commission:
            next_commission += COMMISSION_EVERY
            commission = book.write()
            lehr.load()
        stress = lehr.cool(commission)
        if lehr.rounds % (3 * ROUNDS_PER_SECOND) == 0:
            print(f"commission {commission.number}: stress {stress:.3f}, cracked {lehr.cracked}", flush=True)
        time.sleep(max(0.0, start + lehr.rounds / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"oven off after {book.written} commissions, {lehr.cracked} goblets cracked", flush=True)


if __name__ == "__main__":
    main()
