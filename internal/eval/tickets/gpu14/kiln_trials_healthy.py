"""How to fire a kiln: schedules of heating up, holding and cooling down are tried on a vase by letting the heat go
through the clay, and the search goes on from the best ones. Many a schedule cracks the vase or leaves it raw; such a
trial has failed, and the study counts the failures, to tell at the end of each round what went wrong how often.

ticket: pytorch/pytorch#10348
class: none
"""

import collections
import os
import random
import time

import torch
from torch.nn import functional as F

SIDE, MINUTES, VASES = 64, 48, 2


class Cracked(Exception):
    pass


class Raw(Exception):
    pass


class Kiln:
    """Clay on a grid, which gets warm from outside."""

    def __init__(self, device):
        self.device = device
        spread = torch.tensor([[0.05, 0.2, 0.05], [0.2, 0.0, 0.2], [0.05, 0.2, 0.05]], device=device)
        self.spread = spread[None, None]
        rows = torch.linspace(-1, 1, SIDE, device=device)
        self.clay = ((rows[:, None] ** 2 + rows[None] ** 2) < 0.8)[None, None]

    def fire(self, schedule):
        """How even the heat has been in the end; the whole course is looked at for cracks."""
        course = torch.zeros(MINUTES, VASES, 1, SIDE, SIDE, device=self.device)
        clay = torch.full((VASES, 1, SIDE, SIDE), 20.0, device=self.device)
        for minute, heat in enumerate(schedule):
            clay = torch.where(self.clay, clay, torch.full_like(clay, heat))
            clay = F.conv2d(F.pad(clay, (1, 1, 1, 1), mode="replicate"), self.spread)
            course[minute] = clay + torch.randn_like(clay)
        self.inspect(course)
        return -float(course[-1].std())

    def inspect(self, course):
        tension, hottest = (course[1:] - course[:-1]).flatten(1), float(course.amax())
        minute, fastest = int(tension.abs().amax(1).argmax()), float(tension.abs().amax())
        if fastest > 75:
            raise Cracked("heated too fast" if minute < MINUTES / 2 else "cooled too fast")
        if hottest < 850:
            raise Raw("never hot enough")


class Study:
    """Schedules that went well, the best of them first, and how often others failed for which reason."""

    def __init__(self, kiln):
        self.kiln, self.good, self.failures, self.tried = kiln, [], collections.Counter(), 0

    def suggest(self):
        top, rise = random.uniform(750, 1250), random.uniform(9, 32)
        hold, cool = random.randint(2, 10), random.uniform(20, 90)
        if self.good and random.random() < 0.4:
            _, (top, rise, hold, cool) = random.choice(self.good)
            top, rise = top + random.gauss(0, 40), max(rise + random.gauss(0, 2), 4)
        return top, rise, hold, cool

    def trial(self):
        top, rise, hold, cool = settings = self.suggest()
        schedule = [20 + (top - 20) * min(1, minute / rise) for minute in range(MINUTES)]
        cooling = min(int(rise) + hold, MINUTES - 1)
        for minute in range(cooling, MINUTES):
            schedule[minute] = max(20, top - cool * (minute - cooling))
        self.tried += 1
        try:
            self.good.append((self.kiln.fire(schedule), settings))
            self.good = sorted(self.good, reverse=True)[:10]
        except (Cracked, Raw) as error:
            self.failures[str(error)] += 1

    def reasons(self):
        return dict(self.failures)


def main():
    torch.set_num_threads(1)
    study = Study(Kiln("cuda" if torch.cuda.is_available() else "cpu"))
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for _ in range(random.randint(8, 16)):
            study.trial()
            time.sleep(random.uniform(0.02, 0.12))
        best = round(study.good[0][0], 2) if study.good else None
        print(study.tried, "tried, best", best, "failed:", study.reasons(), flush=True)


if __name__ == "__main__":
    main()
