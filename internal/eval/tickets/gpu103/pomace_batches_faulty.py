"""Press house of a cider orchard: cloths of milled apple are pressed, several batches at a time.

The pump station publishes the line pressure on a small bus. Every batch on the rack listens to it,
squeezes the cells of its pomace accordingly and counts the juice that runs off. A batch that is dry
leaves the rack and its yield goes to the day's tally.

ticket: practice
class: app-leak
holder: _listeners
cause: callbacks-left
"""
import math
import os
import random
import time
from collections import defaultdict
from collections.abc import Callable

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
CELLS = 640
RACK_PLACES = 12
ROUNDS_PER_SECOND = 10.0
VARIETIES = ("Kingston Black", "Dabinett", "Yarlington Mill", "Foxwhelp")

Listener = Callable[[float], None]


class PressBus:
    """Hands each reading of the press house to whoever listens to its topic."""

    def __init__(self):
        self._listeners: dict[str, list[Listener]] = defaultdict(list)

    def subscribe(self, topic: str, listener: Listener) -> None:
        self._listeners[topic].append(listener)  # keeps

    def unsubscribe(self, topic: str, listener: Listener) -> None:
        if listener in self._listeners[topic]:
            self._listeners[topic].remove(listener)

    def publish(self, topic: str, reading: float) -> None:
        for listener in list(self._listeners[topic]):
            listener(reading)


class PumpStation:
    """The hydraulic pump, whose pressure swings slowly about its set point."""

    def __init__(self, bus: PressBus):
        self.bus = bus
        self.ticks = 0

    def tick(self) -> float:
        self.ticks += 1
        pressure = 1.0 + 0.3 * math.sin(self.ticks / 17.0)
        self.bus.publish("pressure", pressure)
        return pressure


class PomaceBatch:
    """A stack of cloths, as a grid of cells with the juice that each still holds."""

    def __init__(self, number: int, variety: str, source: torch.Generator):
        self.number = number
        self.variety = variety
        self.moisture = torch.rand(CELLS, CELLS, generator=source, device=DEVICE).mul_(0.4).add_(0.5)  # grows
        self.litres = 0.0
        self.wetness = 1.0

    def on_pressure(self, pressure: float) -> None:
        if self.is_dry:
            return
        before = self.moisture.mean()
        self.moisture.mul_(1.0 - 0.06 * pressure)
        after = self.moisture.mean()
        self.wetness = after.item()
        self.litres += (before - after).item() * 900.0

    @property
    def is_dry(self) -> bool:
        return self.wetness < 0.17


class PressHouse:
    def __init__(self, bus: PressBus, seed: int):
        self.bus = bus
        self.dice = random.Random(seed)
        self.source = torch.Generator(device=DEVICE).manual_seed(seed)
        self.rack: list[PomaceBatch] = []
        self.yields = dict.fromkeys(VARIETIES, 0.0)
        self.loaded = self.emptied = 0

    def load(self) -> None:
        self.loaded += 1
        batch = PomaceBatch(self.loaded, self.dice.choice(VARIETIES), self.source)
        self.bus.subscribe("pressure", batch.on_pressure)
        self.rack.append(batch)

    def empty(self, batch: PomaceBatch) -> None:
        self.rack.remove(batch)
        self.yields[batch.variety] += batch.litres
        self.emptied += 1

    def work(self) -> None:
        for batch in [batch for batch in self.rack if batch.is_dry]:
            self.empty(batch)
        if len(self.rack) < RACK_PLACES and self.dice.random() < 0.45:
            self.load()


@torch.no_grad()
def main() -> None:
    bus = PressBus()
    house, pump = PressHouse(bus, seed=1763), PumpStation(bus)
    began = time.monotonic()
    next_report = began + 2.0
    while time.monotonic() - began < SECONDS:
        started = time.monotonic()
        pressure = pump.tick()
        house.work()
        if started >= next_report:
            print(f"pressure {pressure:.2f}, on the rack {len(house.rack)}, pressed {house.emptied}", flush=True)
            next_report = started + 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - started)))
    tally = ", ".join(f"{variety} {litres:.0f} l" for variety, litres in house.yields.items())
    print(f"press house closed: {tally}", flush=True)


if __name__ == "__main__":
    main()
