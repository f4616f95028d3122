"""Answers the taxi clearances that pilots ask of an airport tower.

For each request the desk lays out when the aircraft will stand on which part of the field, weighs that against the
traffic in view, and gives a clearance as soon as the conflict is low. Pilots may withdraw a request: a slot is
missed, or a passenger has not come.

ticket: practice
class: none
"""
import itertools
import os
import random
import time
from collections import deque

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
FIELD = 512
REQUESTS_PER_ROUND = 2
WITHDRAWN_SHARE = 0.3
PAUSE = 0.07


class Request:
    """One request with the occupancy that its route would make."""

    def __init__(self, number, callsign, gate, occupancy):
        self.number = number
        self.callsign = callsign
        self.gate = gate
        self.occupancy = occupancy
        self.state = "waiting"


class Field:
    """The movement area: where other traffic is expected."""

    def __init__(self):
        self.generator = torch.Generator(device=DEVICE).manual_seed(27)
        self.traffic = torch.rand(FIELD, FIELD, generator=self.generator, device=DEVICE)
        axis = torch.arange(FIELD, device=DEVICE, dtype=torch.float32)
        self.rows = axis.unsqueeze(1)
        self.columns = axis.unsqueeze(0)

    def drift(self):
        self.traffic = torch.roll(self.traffic, shifts=3, dims=1)

    def route(self, gate, heading):
        centre = gate + heading * self.columns
        return torch.exp(-((self.rows - centre) ** 2) / 800.0)

    def conflict(self, occupancy):
        return (occupancy * self.traffic).mean().item()


class ClearanceDesk:
    def __init__(self, field):
        self.field = field
        self._numbers = itertools.count(1)
        self._open = {}
        self._order = deque()
        self.cleared = 0
        self.withdrawn = 0
        self.last_conflict = 0.0

    def file(self, callsign, gate, heading):
        number = next(self._numbers)
        request = Request(number, callsign, gate, self.field.route(gate, heading))
        self._open[number] = request
        self._order.append(number)
        return number

    def withdraw(self, number):
        request = self._open[number]
        if request.state != "waiting":
            return
        request.state = "withdrawn"
        self._order.remove(number)
        del self._open[number]
        self.withdrawn += 1

    def answer(self, limit):
        for _ in range(min(limit, len(self._order))):
            number = self._order.popleft()
            request = self._open[number]
            self.last_conflict = self.field.conflict(request.occupancy)
            request.state = "cleared"
            del self._open[number]
            self.cleared += 1


class Pilots:
    """The radio: new requests, and some taken back soon after."""

    def __init__(self, desk):
        self.desk = desk
        self.random = random.Random(4)

    def call(self):
        filed = []
        for _ in range(REQUESTS_PER_ROUND):
            callsign = f"{self.random.choice(['KLM', 'SAS', 'EIN'])}{self.random.randint(100, 999)}"
            gate = self.random.uniform(40, FIELD - 40)
            filed.append(self.desk.file(callsign, gate, self.random.uniform(-0.5, 0.5)))
        for number in filed:
            if self.random.random() < WITHDRAWN_SHARE:
                self.desk.withdraw(number)


def main():
    torch.set_num_threads(1)
    field = Field()
    desk = ClearanceDesk(field)
    pilots = Pilots(desk)
    began = time.monotonic()
    spoken = began
    while time.monotonic() - began < SECONDS:
        pilots.call()
        desk.answer(limit=4)
        field.drift()
        if time.monotonic() - spoken >= 3.0:
            spoken = time.monotonic()
            print(f"cleared {desk.cleared}, withdrawn {desk.withdrawn}, conflict {desk.last_conflict:.3f}", flush=True)
        time.sleep(PAUSE)
    print(f"tower closed: {desk.cleared} cleared, {desk.withdrawn} withdrawn", flush=True)


if __name__ == "__main__":
    main()
