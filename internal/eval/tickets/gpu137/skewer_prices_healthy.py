"""The grills of a night market ask for the best price of their skewers, in rushes of about a second.

For each stall the expected demand is a surface over price and hunger that depends on the warmth of the evening. The
surfaces are worked out when a stall asks, and the same surface serves all the stall's questions in that weather.
Between the rushes the service rests for two seconds.

ticket: practice
class: none
"""
import math
import os
import random
import time

import torch

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ASKED_PER_SECOND = 12
RUSH_QUESTIONS = 12
REST_SECONDS = 2.0
STALLS = ("lamb", "squid", "mushroom", "tofu")
PRICES, HUNGERS = 512, 768


class Evening:
    """The weather over the market; it wavers around three kinds of breeze."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.questions = 0

    def next_question(self):
        stall = STALLS[self.questions % len(STALLS)]
        breeze = self.questions // len(STALLS) % 3
        warmth = 23.0 + breeze + self.random.uniform(-0.3, 0.3)
        self.questions += 1
        return stall, warmth, 0.5 + 0.5 * self.random.random()


class DemandModel:
    def __init__(self):
        self.prices = torch.linspace(1.0, 9.0, PRICES, device=DEVICE)[:, None]
        self.hungers = torch.linspace(0.0, 1.0, HUNGERS, device=DEVICE)[None, :]
        self._surfaces = {}
        self.worked_out = 0

    def work_out(self, stall, warmth):
        taste = 1.0 + 0.2 * STALLS.index(stall)
        comfort = math.exp(-((warmth - 24.0) / 6.0) ** 2)
        demand = torch.sigmoid(4.0 * self.hungers * comfort - self.prices / taste)
        demand.mul_(120.0)
        self.worked_out += 1
        return demand

    def surface(self, stall, warmth):
        key = (stall, round(warmth))
        found = self._surfaces.get(key)
        if found is None:
            found = self.work_out(stall, warmth)
            self._surfaces[key] = found
        return found


class PriceService:
    def __init__(self, model):
        self.model = model
        self.answers = 0
        self.income = 0.0
        self.last = {}

    def best_price(self, stall, warmth, hunger):
        surface = self.model.surface(stall, warmth)
        column = surface[:, int(hunger * (HUNGERS - 1))]
        income = column * self.model.prices[:, 0]
        at = int(income.argmax())
        self.answers += 1
        self.income += float(income[at])
        self.last[stall] = float(self.model.prices[at, 0])
        return self.last[stall]

    def board(self):
        return ", ".join(f"{stall} {price:.2f}" for stall, price in self.last.items())


def rush(service, evening, end):
    """One wave of hungry people, question by question."""
    for _ in range(RUSH_QUESTIONS):
        if time.monotonic() >= end:
            return
        began = time.monotonic()
        service.best_price(*evening.next_question())
        time.sleep(max(0.0, began + 1.0 / ASKED_PER_SECOND - time.monotonic()))


def main():
    torch.set_num_threads(1)
    evening = Evening(seed=19)
    service = PriceService(DemandModel())
    end = time.monotonic() + SECONDS
    rushes = 0
    while time.monotonic() < end:
        rush(service, evening, end)
        rushes += 1
        print(f"rush {rushes}: {service.answers} answers, {service.board()}", flush=True)
        time.sleep(max(0.0, min(REST_SECONDS, end - time.monotonic())))
    print(f"{rushes} rushes, mean income {service.income / service.answers:.1f}", flush=True)


if __name__ == "__main__":
    main()
