"""Forecasts the level below the sluices of a canal from the inflow above them.

How fast a pound answers to water from above depends on how far the paddle of its sluice is open and on the head over
it. The answer is tabulated as a matrix that turns the inflow of the past hours into the levels of the coming hours;
gauges, forecasts and warnings are stages of a pipeline, and each stage takes what the former one hands on.

ticket: practice
class: host-growth
holder: AnswerTable
cause: cache-without-bound
"""
import math
import os
import time
from typing import Iterator, NamedTuple

import torch

PAST = 400
COMING = 300
SLUICES = 8
PADDLES = (0.25, 0.5, 0.75, 1.0)
ROUND_SECONDS = 0.55
HEADS_PER_METRE = 1000


class Reading(NamedTuple):
    sluice: int
    paddle: float
    head: float
    inflow: torch.Tensor


class Forecast(NamedTuple):
    sluice: int
    highest: float
    when: int
    brim: float


class AnswerTable(dict):
    """Answer matrices by paddle and head, worked out when they are first asked for."""

    def __missing__(self, key):
        paddle, head = key
        flow = paddle * math.sqrt(2.0 * 9.81 * head / HEADS_PER_METRE)
        lag = 14.0 / flow
        spread = 4.0 + 22.0 / flow
        ages = torch.arange(COMING)[:, None] + torch.arange(PAST, 0, -1)[None, :]
        matrix = torch.exp(-0.5 * ((ages - lag) / spread) ** 2)  # grows
        matrix *= flow / (spread * math.sqrt(2.0 * math.pi))
        self[key] = matrix  # keeps
        return matrix


class Gauge:
    """Level and inflow of one sluice; rain comes and goes, and the head wanders with it."""

    def __init__(self, sluice):
        self.sluice = sluice
        self.random = torch.Generator().manual_seed(90 + sluice)
        self.rain = torch.rand(PAST, generator=self.random)
        self.head = 1.4 + 0.1 * sluice
        self.paddle = 1

    def draw(self):
        return float(torch.rand((), generator=self.random))

    def read(self):
        self.rain = torch.roll(self.rain, -1)
        self.rain[-1] = 0.92 * self.rain[-2] + 0.16 * self.draw() ** 3
        self.head += 0.05 * (1.6 - self.head) + 0.24 * (self.draw() - 0.5)
        self.head = min(max(self.head, 0.5), 3.0)
        if self.draw() > 0.9:
            self.paddle = (self.paddle + 1) % len(PADDLES)
        noise = 0.02 * torch.randn(PAST, generator=self.random)
        return Reading(self.sluice, PADDLES[self.paddle], self.head, self.rain + noise)


def readings(gauges, end) -> Iterator[Reading]:
    """Rounds over all sluices, with the gauges read at even distances in time."""
    gap = ROUND_SECONDS / len(gauges)
    due = time.time()
    while True:
        for gauge in gauges:
            due = max(due + gap, time.time())
            time.sleep(max(0.0, due - time.time()))
            if time.time() >= end:
                return
            yield gauge.read()


def forecasts(stream, table) -> Iterator[Forecast]:
    for reading in stream:
        key = (reading.paddle, round(reading.head * HEADS_PER_METRE))
        levels = table[key] @ reading.inflow
        highest, when = levels.max(dim=0)
        yield Forecast(reading.sluice, float(highest), int(when), 0.2 + 0.5 * reading.paddle)


def warnings(stream):
    """Groups of forecasts as long as four rounds, with those that spill over the brim."""
    group = []
    for forecast in stream:
        group.append(forecast)
        if len(group) == 4 * SLUICES:
            yield group, [one for one in group if one.highest > one.brim]
            group = []


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    gauges = [Gauge(sluice) for sluice in range(SLUICES)]
    stream = forecasts(readings(gauges, end), AnswerTable())
    for group, spilling in warnings(stream):
        worst = max(group, key=lambda forecast: forecast.highest / forecast.brim)
        share = len(spilling) / len(group)
        print(f"sluice {worst.sluice} peaks at {worst.highest:.3f} m in {worst.when} steps, {share:.0%} spill", flush=True)


if __name__ == "__main__":
    main()
