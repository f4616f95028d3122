"""Call-outs of the rescue toboggans of a ski patrol.

Guests and lift crews report accidents to the desk at the top station. For each report the desk works out a
sheet of travel times over the part of the mountain in question, sends a toboggan and answers questions on where
it will be and when. A call-out closes when the patient has reached the base, or when the patrol is stood down
since the guest has skied off.

ticket: practice
class: none
"""

import os
import random
import time
from dataclasses import dataclass

import torch

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_A_SECOND = 8
STOOD_DOWN_SHARE = 0.4
MOST_OPEN = 10


@dataclass
class Request:
    kind: str
    incident: int
    rows: int = 0
    columns: int = 0
    steepness: float = 0.0


class Mountain:
    """Slope and snow of the whole area, of which the desk cuts a part."""

    def __init__(self, seed, side=1024):
        generator = torch.Generator().manual_seed(seed)
        rough = torch.rand(1, 1, 33, 33, generator=generator)
        ground = torch.nn.functional.interpolate(rough, size=(side, side), mode="bilinear", align_corners=False)
        self.ground = ground[0, 0].to(DEVICE)

    def part(self, rows, columns):
        return self.ground[:rows, :columns]


class TobogganDesk:
    """Takes the requests and keeps the books of the open call-outs."""

    def __init__(self, mountain, toboggans):
        self.mountain = mountain
        self.free = list(range(toboggans))
        self._sheets = {}
        self._crews = {}
        self.answers = 0
        self.closed = 0

    def handle(self, request):
        self.answers += 1
        return getattr(self, f"on_{request.kind}")(request)

    def on_report(self, request):
        ground = self.mountain.part(request.rows, request.columns)
        times = torch.stack((ground * request.steepness, ground.flip(0) + request.steepness))
        times.cumsum_(dim=1)
        self._sheets[request.incident] = times
        self._crews[request.incident] = self.free.pop() if self.free else None
        return float(times[0, -1].min())

    def on_where(self, request):
        times = self._sheets[request.incident]
        down, up = times[:, times.shape[1] // 2].mean(dim=1).tolist()
        return down + up

    def on_reached(self, request):
        times = self._sheets.pop(request.incident)
        self._send_home(request.incident)
        return float(times[0, -1].mean())

    def on_stood_down(self, request):
        self._sheets.pop(request.incident)
        self._send_home(request.incident)
        return 0.0

    def _send_home(self, incident):
        toboggan = self._crews.pop(incident)
        if toboggan is not None:
            self.free.append(toboggan)
        self.closed += 1


class Day:
    """Makes up the reports of a busy day on the mountain."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.open = []
        self.last = 0

    def report(self):
        self.last += 1
        self.open.append(self.last)
        return Request(
            "report",
            self.last,
            rows=self.dice.randrange(480, 900),
            columns=self.dice.randrange(480, 900),
            steepness=self.dice.uniform(0.5, 2.0),
        )

    def requests(self, round_number):
        if round_number % 2 == 0:
            yield self.report()
        for incident in self.dice.sample(self.open, min(2, len(self.open))):
            yield Request("where", incident)
        while len(self.open) > MOST_OPEN or (len(self.open) > 4 and self.dice.random() < 0.4):
            incident = self.open.pop(self.dice.randrange(len(self.open)))
            kind = "stood_down" if self.dice.random() < STOOD_DOWN_SHARE else "reached"
            yield Request(kind, incident)


def main():
    desk = TobogganDesk(Mountain(seed=1936), toboggans=8)
    day = Day(seed=36)
    start = time.monotonic()
    round_number = 0
    while time.monotonic() - start < SECONDS:
        answers = [desk.handle(request) for request in day.requests(round_number)]
        round_number += 1
        if round_number % 24 == 0:
            last = answers[-1] if answers else 0.0
            print(f"{desk.answers} requests, {desk.closed} closed, last answer {last:.1f}", flush=True)
        time.sleep(1.0 / ROUNDS_A_SECOND)
    print(f"lifts closed: {day.last} reports, {desk.closed} call-outs closed", flush=True)


if __name__ == "__main__":
    main()
