"""Beagles sweep the baggage of arriving flights before it goes up to the carousels. Each trolley of a flight is
walked round by one dog; how the scent spreads between the cases is worked out in a small pool of workers while the
next trolley rolls in. When the last trolley of a flight is through, the handlers look at all its sweeps together
and either release the baggage or pull single cases aside.

ticket: practice
class: none
"""
import os
import time
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

CELLS = 224
DOGS = ("Biscuit", "Dulcie", "Mango", "Pepper")
ORIGINS = ("Lima", "Accra", "Hanoi", "Quito", "Cairo", "Perth")


@dataclass(frozen=True)
class Trolley:
    flight: str
    position: int
    cases: int
    seed: int


@dataclass
class Sweep:
    trolley: Trolley
    dog: str
    plume: np.ndarray

    def suspicious(self):
        return int((self.plume > 4.0 * self.plume.mean()).sum())


def spread(field, steps):
    for _ in range(steps):
        across = np.roll(field, 1, 0) + np.roll(field, -1, 0)
        along = np.roll(field, 1, 1) + np.roll(field, -1, 1)
        field = 0.6 * field + 0.1 * (across + along)
    return field


def sweep_trolley(trolley, dog):
    rng = np.random.default_rng(trolley.seed)
    field = np.full((CELLS, CELLS), 0.05)
    places = rng.integers(0, CELLS, (trolley.cases, 2))
    field[places[:, 0], places[:, 1]] += rng.gamma(1.2, 3.0, trolley.cases)
    return Sweep(trolley, dog, spread(field, steps=5))


class Apron:
    """Brings in the trolleys, flight after flight."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.flights = 0

    def trolleys(self):
        while True:
            self.flights += 1
            origin = ORIGINS[int(self.rng.integers(len(ORIGINS)))]
            flight = f"{origin} {self.flights}"
            length = int(self.rng.integers(4, 9))
            for position in range(length):
                cases = int(self.rng.integers(20, 60))
                yield Trolley(flight, position, cases, int(self.rng.integers(1 << 31))), position == length - 1


class SweepOffice:
    def __init__(self, pool):
        self.pool = pool
        self._sweeps = {}
        self._closing = deque()
        self.outcomes = Counter()
        self.pulled = 0

    def send(self, trolley, last):
        dog = DOGS[trolley.seed % len(DOGS)]
        future = self.pool.submit(sweep_trolley, trolley, dog)
        self._sweeps.setdefault(trolley.flight, []).append(future)
        if last:
            self._closing.append(trolley.flight)

    def decide(self, sweeps):
        suspects = sum(sweep.suspicious() for sweep in sweeps)
        self.pulled += suspects // 100
        return "cases pulled" if suspects > 2500 else "released"

    def close_flights(self):
        closed = []
        for _ in range(len(self._closing)):
            flight = self._closing.popleft()
            if not all(future.done() for future in self._sweeps[flight]):
                self._closing.append(flight)
                continue
            futures = self._sweeps.pop(flight)
            outcome = self.decide([future.result() for future in futures])
            self.outcomes[outcome] += 1
            closed.append((flight, outcome))
        return closed


def main():
    seconds = float(os.environ.get("SECONDS", "45"))
    apron = Apron(seed=909)
    arriving = apron.trolleys()
    latest = ("none", "-")
    started = spoken = time.monotonic()
    with ThreadPoolExecutor(max_workers=2, thread_name_prefix="sweep") as pool:
        office = SweepOffice(pool)
        while time.monotonic() - started < seconds:
            office.send(*next(arriving))
            for latest in office.close_flights():
                pass
            if time.monotonic() - spoken > 2.2:
                spoken = time.monotonic()
                print(f"flight {latest[0]}: {latest[1]}; so far {dict(office.outcomes)}", flush=True)
            time.sleep(0.055)
    print(f"{apron.flights} flights, {office.pulled} cases pulled aside, {dict(office.outcomes)}", flush=True)


if __name__ == "__main__":
    main()
