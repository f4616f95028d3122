"""Consoles of greenhouse keepers.

A keeper who walks in with a tablet logs on to the climate service and gets a working copy of the air model of the
house, on which vents can be tried out before they are moved. The token of a visit is good for a short time only and
is renewed half way through; when the keeper leaves, the visit is closed.

    ticket: practice
    class: app-leak
    holder: _live
    cause: sessions-kept entries-left
"""
import itertools
import os
import random
import time

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 8
LAYERS, WIDTH, LENGTH = 3, 256, 512
VISIT_ROUNDS = 12
RENEW_ROUNDS = 6


class House:
    """The air of one greenhouse: warmth of three layers over the floor plan."""

    def __init__(self, seed):
        rng = torch.Generator(device=DEVICE).manual_seed(seed)
        self.warmth = 18.0 + 4.0 * torch.rand(LAYERS, WIDTH, LENGTH, generator=rng, device=DEVICE)
        self.outside = 11.0

    def drift(self, hour):
        self.outside = 11.0 + 5.0 * (hour % 24) / 24.0
        self.warmth.lerp_(torch.full((), self.outside + 8.0, device=DEVICE), 0.002)


class Visit:
    def __init__(self, token, keeper, house):
        self.token = token
        self.keeper = keeper
        self.age = 0
        self.trial = house.warmth.clone()  # grows

    def open_vent(self, bay, outside):
        strip = self.trial[-1, :, bay * 64:(bay + 1) * 64]
        strip.add_(outside - strip.mean(), alpha=0.08)

    def outlook(self):
        return self.trial[-1].mean() - self.trial[0].mean()


class ClimateService:
    def __init__(self, house):
        self.house = house
        self._serial = itertools.count(1)
        self._signer = random.Random(404)
        self._live = {}

    def _issue(self):
        return f"{next(self._serial):05d}-{self._signer.getrandbits(32):08x}"

    def open(self, keeper):
        visit = Visit(self._issue(), keeper, self.house)
        self._live[visit.token] = visit  # keeps
        return visit.token

    def try_vent(self, token, bay):
        visit = self._live[token]
        visit.age += 1
        visit.open_vent(bay, self.house.outside)
        return visit.outlook()

    def age(self, token):
        return self._live[token].age

    def renew(self, token):
        visit = self._live[token]
        visit.token = self._issue()
        self._live[visit.token] = visit
        return visit.token

    def close(self, token):
        visit = self._live.pop(token)
        return visit.keeper, visit.age


class Keepers:
    """Those who are in the house at the moment, each with the token of the visit."""

    NAMES = ("Ash", "Bryony", "Fern", "Heath", "Ivy", "Linden")

    def __init__(self, service):
        self.service = service
        self.tokens = []
        self.rng = random.Random(9)
        self.visits = 0

    def enter(self):
        self.tokens.append(self.service.open(self.rng.choice(self.NAMES)))

    def walk(self):
        outlooks, staying = [], []
        for token in self.tokens:
            outlooks.append(self.service.try_vent(token, self.rng.randrange(8)))
            age = self.service.age(token)
            if age >= VISIT_ROUNDS:
                self.service.close(token)
                self.visits += 1
                continue
            staying.append(self.service.renew(token) if age == RENEW_ROUNDS else token)
        self.tokens = staying
        return float(torch.stack(outlooks).mean())


def main():
    service = ClimateService(House(seed=31))
    keepers = Keepers(service)
    begun = time.monotonic()
    rounds = 0
    while time.monotonic() - begun < SECONDS:
        if rounds % 2 == 0:
            keepers.enter()
        outlook = keepers.walk()
        service.house.drift(rounds / 60.0)
        rounds += 1
        if rounds % 24 == 0:
            print(f"{keepers.visits} visits over, {len(keepers.tokens)} in the house, lift {outlook:+.3f} K",
                  flush=True)
        time.sleep(max(0.0, begun + rounds / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"house locked after {keepers.visits} visits", flush=True)


if __name__ == "__main__":
    main()
