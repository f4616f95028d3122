"""Watches the valves of a salt works. Each station has an estimator, which compares a reading with a bank of known
states and publishes a wear score on the event bus; a ledger notes the newest score of each station. When new settings
for a station arrive, the service builds a fresh estimator for it in place of the present one.

ticket: practice
class: app-leak
holder: handlers EventBus Estimator bank
cause: callbacks-left
"""

import os
import random
import time
from collections import defaultdict
from dataclasses import dataclass

import torch

STATIONS = "intake", "crystalliser", "settling", "outfall"
STATES, CHANNELS = 12_000, 96


@dataclass(frozen=True)
class Settings:
    station: str
    neighbours: int
    seed: int


@dataclass
class Reading:
    station: str
    values: torch.Tensor


class EventBus:
    """Handlers are called in the order in which they subscribed."""

    def __init__(self):
        self.handlers = defaultdict(list)

    def subscribe(self, topic, handler):
        self.handlers[topic].append(handler)  # keeps

    def publish(self, topic, event):
        for handler in list(self.handlers[topic]):
            handler(event)


class Estimator:
    def __init__(self, settings, bus, device):
        self.settings, self.bus = settings, bus
        generator = torch.Generator(device).manual_seed(settings.seed)
        self.bank = torch.randn(STATES, CHANNELS, generator=generator, device=device)  # grows
        bus.subscribe(f"reading/{settings.station}", self.on_reading)

    @torch.no_grad()
    def on_reading(self, reading):
        nearest = torch.cdist(reading.values[None], self.bank)[0].topk(self.settings.neighbours, largest=False).values
        self.bus.publish("score", (reading.station, nearest.mean().item()))


class Ledger:
    def __init__(self, bus):
        self.scores = {}
        bus.subscribe("score", self.on_score)

    def on_score(self, event):
        self.scores.update([event])

    def __str__(self):
        return ", ".join(f"{station} {score:.2f}" for station, score in sorted(self.scores.items()))


class Service:
    def __init__(self, device):
        self.device, self.bus = device, EventBus()
        self.ledger = Ledger(self.bus)
        self.estimators = {}
        for number, station in enumerate(STATIONS):
            self.configure(Settings(station, 5, number))

    def configure(self, settings):
        self.estimators[settings.station] = Estimator(settings, self.bus, self.device)

    def read(self, station):
        self.bus.publish(f"reading/{station}", Reading(station, torch.randn(CHANNELS, device=self.device)))


def main():
    torch.set_num_threads(1)
    service = Service("cuda" if torch.cuda.is_available() else "cpu")
    rounds, end = 0, time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for station in STATIONS:
            service.read(station)
        rounds += 1
        if rounds % 3 == 0:
            service.configure(Settings(random.choice(STATIONS), random.randint(3, 9), rounds))
        if rounds % 20 == 0:
            print(f"round {rounds}: {service.ledger}", flush=True)
        time.sleep(0.1)


if __name__ == "__main__":
    main()
