"""The dog section of an airport answers callouts from the terminals: a gate, a hall or a hold is to be searched
before the passengers go on. The desk takes each request, lays out a search plan over the floor, finds a rested dog
and closes the callout when the team radios in. Flights that are diverted meanwhile are stood down, and the team
goes back to the kennels at once.

ticket: practice
class: none
"""
import itertools
import os
import random
import time
from collections import Counter, deque
from dataclasses import dataclass, field

import numpy as np

DOGS = ("Bramble", "Pilot", "Juno", "Tansy", "Rook", "Sorrel", "Hazel", "Flint")
PLACES = ("gate", "hall", "hold", "carousel", "lounge")
FLOOR = 360


@dataclass
class Request:
    number: int
    flight: str
    place: str
    urgency: int
    diverted: bool = False


@dataclass
class Callout:
    request: Request
    dog: str
    plan: np.ndarray
    taken_at: float = field(default_factory=time.monotonic)


class Kennels:
    def __init__(self, dogs):
        self._rested = deque(dogs)
        self.outings = Counter()

    def fetch(self):
        dog = self._rested.popleft()
        self.outings[dog] += 1
        return dog

    def bring_back(self, dog):
        self._rested.append(dog)

    def __len__(self):
        return len(self._rested)


class Terminal:
    """Sends the callouts of a day, in bursts when several flights board together."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.numbers = itertools.count(1)

    def arrivals(self):
        for _ in range(self.random.choice((0, 1, 1, 2))):
            number = next(self.numbers)
            flight = f"{self.random.choice('KQTZ')}{self.random.choice('ABEL')}{100 + number % 900}"
            yield Request(number, flight, self.random.choice(PLACES), self.random.randint(1, 5))

    def diverts(self):
        return self.random.random() < 0.35


class CalloutDesk:
    def __init__(self, kennels, seed):
        self.kennels = kennels
        self.rng = np.random.default_rng(seed)
        self.floors = {place: self.rng.random((FLOOR, FLOOR)) for place in PLACES}
        self._open = {}
        self.closed = Counter()
        self.minutes = deque(maxlen=50)

    def lay_out(self, request):
        draught = self.rng.normal(0.0, 0.1 * request.urgency, (FLOOR, FLOOR))
        return np.maximum(self.floors[request.place] + draught, 0.0)

    def accept(self, request):
        plan = self.lay_out(request)
        callout = Callout(request, self.kennels.fetch(), plan)
        self._open[request.number] = callout
        return request.number

    def search(self, number):
        plan = self._open[number].plan
        lanes = plan.reshape(FLOOR // 12, 12, FLOOR).mean(axis=1)
        return int((lanes.max(axis=1) > 0.97).sum())

    def conclude(self, number, diverted):
        callout = self._open[number]
        callout.request.diverted = diverted
        self.kennels.bring_back(callout.dog)
        if diverted:
            self.closed["stood down"] += 1
            del self._open[number]
            return "stood down"
        finds = self.search(number)
        outcome = "indication" if finds > 28 else "clear"
        self.closed[outcome] += 1
        self.minutes.append(time.monotonic() - callout.taken_at)
        del self._open[number]
        return outcome

    def mean_minutes(self):
        return sum(self.minutes) / max(1, len(self.minutes))


def main():
    seconds = float(os.environ.get("SECONDS", "45"))
    terminal = Terminal(seed=77)
    desk = CalloutDesk(Kennels(DOGS), seed=78)
    under_way = deque()
    started = spoken = time.monotonic()
    while time.monotonic() - started < seconds:
        for request in terminal.arrivals():
            if len(desk.kennels):
                under_way.append(desk.accept(request))
        while len(under_way) > 3:
            desk.conclude(under_way.popleft(), terminal.diverts())
        if time.monotonic() - spoken > 2.5:
            spoken = time.monotonic()
            tallies = ", ".join(f"{name} {count}" for name, count in sorted(desk.closed.items()))
            print(f"{tallies}; a search takes {desk.mean_minutes():.2f} min", flush=True)
        time.sleep(0.06)
    busiest, outings = desk.kennels.outings.most_common(1)[0]
    print(f"day over: {sum(desk.closed.values())} callouts, {busiest} went out {outings} times", flush=True)


if __name__ == "__main__":
    main()
