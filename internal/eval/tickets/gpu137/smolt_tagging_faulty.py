"""Salmon with transponder tags climb a pool-and-weir ladder beside a dam.

Antennas in the ladder pick up each tagged fish, and the station follows the fish by a signal track of its own until
it leaves. Fish leave at the top, into the reservoir, or they drop back over the lowest weir. Beside the fish the
station looks at the last five seconds of the water's turbulence, since it decides how hard the climb is.

ticket: practice
class: app-leak
holder: by_tag
cause: entries-left
"""
import collections
import heapq
import os
import random
import time
from dataclasses import dataclass, field

import torch

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 8
ARRIVALS_PER_ROUND = 6
TRACK_SAMPLES = 128 * 1024
FLOW_CELLS = 512
WINDOW_SECONDS = 5


@dataclass
class Fish:
    tag: int
    weight_kg: float
    signal: torch.Tensor
    climbed: float = 0.0


@dataclass(order=True)
class Departure:
    due: int
    tag: int
    upstream: bool = field(compare=False)


class FlowWindow:
    """The turbulence of the last seconds, one frame a round."""

    def __init__(self, generator):
        self.frames = collections.deque(maxlen=WINDOW_SECONDS * ROUNDS_PER_SECOND)
        self.generator = generator

    def observe(self, discharge):
        frame = torch.randn(FLOW_CELLS, FLOW_CELLS, device=DEVICE, generator=self.generator)
        self.frames.append(frame.mul_(discharge))

    def intensity(self):
        return float(self.frames[-1].std())


class LadderStation:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.flow = FlowWindow(self.generator)
        self.by_tag = {}
        self.departures = []
        self.next_tag = 100_000
        self.passed = 0
        self.dropped_back = 0
        self.passed_weight = 0.0
        self.best_drop = 0.0

    def admit(self, now):
        tag = self.next_tag
        self.next_tag += 1
        signal = torch.empty(TRACK_SAMPLES, device=DEVICE)  # grows
        signal.normal_(generator=self.generator)
        self.by_tag[tag] = Fish(tag, self.random.gauss(4.2, 0.8), signal)  # keeps
        upstream = tag % 4 != 0
        stay = self.random.randint(10, 20)
        heapq.heappush(self.departures, Departure(now + stay, tag, upstream))

    def climb(self, now):
        effort = 1.0 / (1.0 + self.flow.intensity())
        for departure in self.departures[:ARRIVALS_PER_ROUND]:
            fish = self.by_tag[departure.tag]
            fish.signal.mul_(0.98).add_(0.02 * effort)
            fish.climbed += effort * 0.3

    def let_go(self, now):
        while self.departures and self.departures[0].due <= now:
            departure = heapq.heappop(self.departures)
            if departure.upstream:
                self.leave_at_top(departure.tag)
            else:
                self.leave_at_foot(departure.tag)

    def leave_at_top(self, tag):
        fish = self.by_tag.pop(tag)
        self.passed += 1
        self.passed_weight += fish.weight_kg

    def leave_at_foot(self, tag):
        fish = self.by_tag[tag]
        self.dropped_back += 1
        self.best_drop = max(self.best_drop, fish.climbed)

    def step(self, now):
        self.flow.observe(0.8 + 0.2 * self.random.random())
        for _ in range(ARRIVALS_PER_ROUND):
            self.admit(now)
        self.climb(now)
        self.let_go(now)


def main():
    torch.set_num_threads(1)
    station = LadderStation(seed=137)
    start = time.monotonic()
    now = 0
    while time.monotonic() - start < SECONDS:
        station.step(now)
        now += 1
        if now % (3 * ROUNDS_PER_SECOND) == 0:
            mean = station.passed_weight / max(1, station.passed)
            print(f"round {now}: {station.passed} passed ({mean:.2f} kg), {station.dropped_back} dropped back, "
                  f"turbulence {station.flow.intensity():.3f}", flush=True)
        time.sleep(max(0.0, start + now / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"station closed after {now} rounds, {station.passed} fish passed", flush=True)


if __name__ == "__main__":
    main()
