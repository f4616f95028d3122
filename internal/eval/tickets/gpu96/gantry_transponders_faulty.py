"""A toll road charges vehicles by the transponder behind the windscreen. At the entry gantry a passage is
opened with the features of the vehicle's photographs, and at the exit gantry the features are compared again
before the toll is charged. A passage ends with a charge, with a waiver for the emergency services, or as a
matter for the inspector when the two sets of photographs do not agree.

ticket: practice
class: app-leak
holder: _passages
cause: entries-left
"""
import os
import random
import time
from collections import Counter, deque
from dataclasses import dataclass

import torch
from torch import nn

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
ENTRIES_PER_SECOND = 16
TRANSIT_ROUNDS = 12
PATCHES, CHANNELS = 256, 1024
AGREEMENT = 0.93


@dataclass
class Passage:
    tag: int
    gantry: str
    features: torch.Tensor
    exempt: bool = False


@dataclass(frozen=True)
class Receipt:
    tag: int
    outcome: str
    cents: int


class FeatureReader(nn.Module):
    """Turns the patches of a gantry photograph into features."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(96, CHANNELS, bias=False)
        self.norm = nn.LayerNorm(CHANNELS)

    @torch.no_grad()
    def forward(self, patches):
        return self.norm(self.project(patches))  # grows


class TollService:
    """Opens passages at the entry gantries and settles them at the exit."""

    GANTRIES = ("Alder Cross", "Millbridge", "Northgate", "Quarry Rise")

    def __init__(self, seed):
        self.reader = FeatureReader().to(DEVICE)
        self.rates = {name: 120 + 45 * index for index, name in enumerate(self.GANTRIES)}
        self.reference_plates = torch.randn(12288, CHANNELS, device=DEVICE)
        self.outcomes = Counter()
        self.inspections = deque(maxlen=50)
        self._passages = {}

    def enter(self, tag, gantry, patches, exempt):
        features = self.reader(patches)
        self._passages[tag] = Passage(tag, gantry, features, exempt)  # keeps

    def leave(self, tag, patches):
        passage = self._passages[tag]
        if passage.exempt:
            return self._close(passage, "waived", 0)
        agreement = torch.cosine_similarity(self.reader(patches), passage.features, dim=1).mean().item()
        if agreement < AGREEMENT:
            return self._refer(passage, agreement)
        return self._close(passage, "charged", self.rates[passage.gantry])

    def _close(self, passage, outcome, cents):
        del self._passages[passage.tag]
        self.outcomes[outcome] += 1
        return Receipt(passage.tag, outcome, cents)

    def _refer(self, passage, agreement):
        self.inspections.append((passage.tag, passage.gantry, round(agreement, 3)))
        self.outcomes["referred"] += 1
        return Receipt(passage.tag, "referred", 0)

    def busiest_plate(self):
        probe = torch.randn(CHANNELS, device=DEVICE)
        return int((self.reference_plates @ probe).argmax())


class Road:
    """Vehicles under way: each leaves TRANSIT_ROUNDS rounds after it came."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.under_way = deque()
        self.next_tag = 700_000

    def arrive(self):
        self.next_tag += 1
        patches = torch.randn(PATCHES, 96, device=DEVICE)
        vehicle = (self.next_tag, patches)
        self.under_way.append(vehicle)
        return vehicle, self.random.choice(TollService.GANTRIES), self.random.random() < 0.06

    def depart(self):
        tag, patches = self.under_way.popleft()
        dirt = 0.8 if self.random.random() < 0.35 else 0.1
        return tag, patches + dirt * torch.randn_like(patches)


def main():
    torch.manual_seed(23)
    service, road = TollService(23), Road(23)
    started = spoken = time.monotonic()
    takings = 0
    while time.monotonic() - started < SECONDS:
        begun = time.monotonic()
        (tag, patches), gantry, exempt = road.arrive()
        service.enter(tag, gantry, patches, exempt)
        if len(road.under_way) > TRANSIT_ROUNDS:
            takings += service.leave(*road.depart()).cents
        if begun - spoken >= 3.0:
            spoken = begun
            print(f"{begun - started:5.1f} s  takings {takings / 100:8.2f}  {dict(service.outcomes)}  "
                  f"plate {service.busiest_plate()}", flush=True)
        time.sleep(max(0.005, 1.0 / ENTRIES_PER_SECOND - (time.monotonic() - begun)))
    print(f"shift over: takings {takings / 100:.2f}, {len(service.inspections)} recent inspections", flush=True)


if __name__ == "__main__":
    main()
