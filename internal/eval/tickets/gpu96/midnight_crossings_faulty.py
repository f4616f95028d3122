"""Ferries cross a lake at night by radar, lamps and the word of the harbour desk. Every crossing has a watch
on board that keeps the radar picture of its own lane and answers what the desk puts on the bus: fog that
drifts over the lanes, and berths that fall free at the far shore. A watch stands from the casting off of its
ferry until it is moored.

ticket: practice
class: app-leak
holder: _listeners
cause: callbacks-left
"""
import os
import random
import time
from collections import defaultdict, deque

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
ROUNDS_PER_SECOND = 8
ROUNDS_PER_CROSSING = 10
LANE = (512, 512)
FERRIES = ("Heron", "Lady Ash", "Night Swan", "Perch", "Silver Pike", "Tern")


class HarbourBus:
    """Carries the desk's word to whoever listens to a topic."""

    def __init__(self):
        self._listeners = defaultdict(list)

    def listen(self, topic, listener):
        self._listeners[topic].append(listener)  # keeps

    def dismiss(self, topic, listener):
        self._listeners[topic].remove(listener)

    def say(self, topic, word):
        for listener in tuple(self._listeners[topic]):
            listener(word)


class Chart:
    """The lake's depth and the echo of its shores, one sheet for each lane."""

    def __init__(self, lanes, generator):
        self.sheets = torch.rand(lanes, *LANE, generator=generator, device=DEVICE)
        self.generator = generator

    def picture(self, lane):
        noise = torch.rand(LANE, generator=self.generator, device=DEVICE)
        return self.sheets[lane].lerp(noise, 0.2)  # grows


class NightWatch:
    """Stands on one ferry for one crossing."""

    def __init__(self, bus, ferry, lane, radar):
        self.bus = bus
        self.ferry = ferry
        self.lane = lane
        self.radar = radar
        self.rounds_left = ROUNDS_PER_CROSSING
        self.berth = None
        self.clear_view = 1.0
        bus.listen("fog", self.on_fog)
        bus.listen("berth", self.on_berth)

    def on_fog(self, bank):
        if bank["lane"] == self.lane:
            self.clear_view = max(0.1, self.clear_view - bank["density"])

    def on_berth(self, number):
        if self.berth is None:
            self.berth = number

    def look_out(self):
        self.rounds_left -= 1
        row = self.rounds_left * (LANE[0] // ROUNDS_PER_CROSSING)
        ahead = self.radar[row:row + 32] * self.clear_view
        return (ahead > 0.9).float().mean()

    def moor(self):
        self.bus.dismiss("berth", self.on_berth)
        return self.ferry, self.berth


class NightService:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.bus = HarbourBus()
        self.chart = Chart(48, self.generator)
        self.under_way = deque()
        self.log = deque(maxlen=100)
        self.crossings = 0
        self.echoes = 0.0

    def cast_off(self):
        lane = self.random.randrange(48)
        ferry = self.random.choice(FERRIES)
        self.under_way.append(NightWatch(self.bus, ferry, lane, self.chart.picture(lane)))

    def round(self, number):
        self.cast_off()
        if number % 3 == 0:
            self.bus.say("fog", {"lane": self.random.randrange(48), "density": self.random.uniform(0.0, 0.4)})
        self.bus.say("berth", 1 + number % 9)
        views = torch.stack([watch.look_out() for watch in self.under_way])
        self.echoes = 0.9 * self.echoes + 0.1 * views.mean().item()
        while self.under_way and self.under_way[0].rounds_left <= 0:
            self.log.append(self.under_way.popleft().moor())
            self.crossings += 1


def main():
    service = NightService(47)
    started = spoken = time.monotonic()
    number = 0
    while time.monotonic() - started < SECONDS:
        begun = time.monotonic()
        service.round(number)
        number += 1
        if begun - spoken >= 3.0:
            spoken = begun
            ferry, berth = service.log[-1]
            print(f"{begun - started:5.1f} s  {service.crossings:4d} crossings  echoes {service.echoes:.4f}  "
                  f"{ferry} moored at berth {berth}", flush=True)
        time.sleep(max(0.005, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - begun)))
    print(f"dawn: {service.crossings} crossings, {len(service.under_way)} ferries still out", flush=True)


if __name__ == "__main__":
    main()
