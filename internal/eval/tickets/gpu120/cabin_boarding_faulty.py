"""The boarding service of a cable car: trains bring guests in bursts, between them the platform is empty.
For each party the service draws up a plan of loads over the ride and seats it in a cabin that can bear the plan.
When gusts hold the line, a party is sent to the restaurant and comes back later with a new number.

ticket: practice
class: app-leak
holder: _plans
cause: entries-left
"""
import itertools
import os
import time
from dataclasses import dataclass

import torch

torch.set_num_threads(1)
torch.manual_seed(2962)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
REQUESTS_PER_S = 20
PARTIES_PER_TRAIN = 24
RESTS_S = (2.0, 4.0, 3.0)
RIDE_STEPS = 672
ROPE_POINTS = 1024
CABINS = 18


class WindHold(Exception):
    """The line stands because of a gust."""


@dataclass
class Party:
    number: int
    guests: int


class Anemometer:
    """Gusts come with every third party that asks."""

    def __init__(self):
        self._asked = 0

    def gusty(self):
        self._asked += 1
        return self._asked % 3 == 0


class Ropeway:
    def __init__(self):
        self._shape = torch.rand(ROPE_POINTS, device=DEVICE)
        self._pylons = torch.rand(4096, ROPE_POINTS, device=DEVICE)
        self._loads = torch.zeros(CABINS, device=DEVICE)

    def plan(self, party):
        """Load on each point of the rope at each step of the ride."""
        start = (party.number * 7) % (len(self._pylons) - RIDE_STEPS)
        return self._pylons[start:start + RIDE_STEPS] * self._shape * (75.0 * party.guests)  # grows

    def seat(self, plan):
        cabin = int(self._loads.argmin())
        self._loads[cabin] += plan.mean()
        return cabin

    def depart(self):
        self._loads.mul_(0.7)


class BoardingService:
    def __init__(self, ropeway, anemometer):
        self._ropeway = ropeway
        self._anemometer = anemometer
        self._plans = {}
        self.seated = 0
        self.sent_away = 0

    def register(self, party):
        self._plans[party.number] = self._ropeway.plan(party)  # keeps

    def _board(self, party):
        if self._anemometer.gusty():
            raise WindHold(f"party {party.number} waits")
        cabin = self._ropeway.seat(self._plans[party.number])
        del self._plans[party.number]
        return cabin

    def handle(self, party):
        self.register(party)
        try:
            cabin = self._board(party)
        except WindHold:
            self.sent_away += 1
            return None
        self.seated += 1
        return cabin


def parties():
    generator = torch.Generator().manual_seed(8)
    for number in itertools.count(1):
        yield Party(number, int(torch.randint(1, 7, (1,), generator=generator)))


def rest(seconds, until):
    end = min(time.monotonic() + seconds, until)
    while time.monotonic() < end:
        time.sleep(min(0.1, max(0.0, end - time.monotonic())))


def main():
    ropeway = Ropeway()
    service = BoardingService(ropeway, Anemometer())
    guests = parties()
    until = time.monotonic() + SECONDS
    with torch.no_grad():
        for train, pause in enumerate(itertools.cycle(RESTS_S), start=1):
            cabin = None
            for party in itertools.islice(guests, PARTIES_PER_TRAIN):
                if time.monotonic() >= until:
                    break
                seat = service.handle(party)
                cabin = cabin if seat is None else seat
                time.sleep(1.0 / REQUESTS_PER_S)
            ropeway.depart()
            print(
                f"train {train}: {service.seated} parties seated (last in cabin {cabin}), "
                f"{service.sent_away} sent to the restaurant",
                flush=True,
            )
            rest(pause, until)
            if time.monotonic() >= until:
                break
    print(f"platform closed, {service.seated} parties seated", flush=True)


if __name__ == "__main__":
    main()
