"""Sittings of a school canteen at lunch time.

Classes come to the hatch one after another while a sitting lasts, then the tables are wiped and the hall
rests until the next one. A class brings a table of the tastes of its pupils. The hatch announces every dish
that it puts out, and the class in question works out who would take it. What is left over guides the cook
in the choice of the next dishes.

ticket: practice
class: app-leak
holder: listeners
cause: callbacks-left
"""
import os
import time
from dataclasses import dataclass

import torch

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
CLASSES_PER_SITTING = 15
ROUND_PAUSE = 0.1
REST = 1.5
PUPILS = 300
TRAITS = 1024
DISHES_PER_CLASS = 4
APPETITE = 0.35


@dataclass
class Dish:
    """A dish put out at the hatch for one class."""

    number: int
    for_class: int
    traits: torch.Tensor
    portions: int


class Hatch:
    """Serving hatch that announces its dishes to whoever listens."""

    def __init__(self):
        self.listeners = []

    def subscribe(self, listener):
        self.listeners.append(listener)  # keeps

    def unsubscribe(self, listener):
        self.listeners = [other for other in self.listeners if other is not listener]

    def announce(self, dish):
        for listener in self.listeners:
            listener(dish)


class SchoolClass:
    """A class at the hatch with the tastes of its pupils."""

    def __init__(self, number, tastes):
        self.number = number
        self.tastes = tastes
        self.fed = torch.zeros(PUPILS, dtype=torch.bool, device=DEVICE)
        self.left_over = 0

    def choose(self, dish):
        if dish.for_class != self.number:
            return
        liking = self.tastes @ dish.traits
        willing = (liking > APPETITE) & ~self.fed
        taken = min(int(willing.sum()), dish.portions)
        served = torch.nonzero(willing).flatten()[:taken]
        self.fed[served] = True
        self.left_over += dish.portions - taken


class Cook:
    """Makes dishes, more of the kind that was eaten up."""

    def __init__(self, generator):
        self.generator = generator
        self.recipe = torch.zeros(TRAITS, device=DEVICE)
        self.dishes = 0

    def prepare(self, for_class):
        self.dishes += 1
        whim = torch.randn(TRAITS, generator=self.generator, device=DEVICE)
        traits = (0.4 * self.recipe + whim) / TRAITS ** 0.5
        return Dish(self.dishes, for_class, traits, portions=90)

    def learn(self, dish, left_over):
        weight = 0.1 if left_over < 20 else -0.05
        self.recipe.mul_(0.9).add_(dish.traits, alpha=weight)


class Canteen:
    """Runs the sittings: brings the classes to the hatch and counts the fed and the left over."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.hatch = Hatch()
        self.cook = Cook(self.generator)
        self.classes = 0
        self.fed = 0
        self.left_over = 0

    def feed_class(self):
        self.classes += 1
        tastes = torch.randn(PUPILS, TRAITS, generator=self.generator, device=DEVICE)  # grows
        group = SchoolClass(self.classes, tastes)
        self.hatch.subscribe(group.choose)
        for _ in range(DISHES_PER_CLASS):
            dish = self.cook.prepare(group.number)
            before = group.left_over
            self.hatch.announce(dish)
            self.cook.learn(dish, group.left_over - before)
        self.hatch.unsubscribe(group.choose)
        self.fed += int(group.fed.sum())
        self.left_over += group.left_over


def main():
    torch.set_num_threads(1)
    canteen = Canteen(seed=15)
    started = time.monotonic()
    sittings = 0
    while time.monotonic() - started < SECONDS:
        for place in range(CLASSES_PER_SITTING):
            canteen.feed_class()
            due = started + sittings * (CLASSES_PER_SITTING * ROUND_PAUSE + REST) + (place + 1) * ROUND_PAUSE
            time.sleep(max(0.0, due - time.monotonic()))
        sittings += 1
        print(f"sitting {sittings:3d}  classes {canteen.classes:4d}  fed {canteen.fed:6d}  "
              f"left over {canteen.left_over:6d}", flush=True)
        time.sleep(REST)
    print(f"kitchen closed: {sittings} sittings, {canteen.fed} pupils fed", flush=True)


if __name__ == "__main__":
    main()
