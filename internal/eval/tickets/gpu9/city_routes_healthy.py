"""A service finds the ways in cities to their nearest depots. What is made ready of a city is kept for as long as the
city is in use, in a weak dictionary; of its city it knows no more than the name.

ticket: practice
class: none
"""

import os
import random
import time
import weakref

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class City:
    """A city as a client sends it: crossings, and streets between them."""

    def __init__(self, name):
        self.name, self.crossings = name, random.randint(500, 800)
        self.streets = []
        for one in range(1, self.crossings):
            for other in random.sample(range(max(0, one - 40), one), min(one, 3)):
                self.streets.append((one, other, random.uniform(0.1, 2)))


class Plan:
    """The matrix of a city's distances, and what its routes ask of it."""

    def __init__(self, city):
        self.name = city.name
        ones, others, lengths = zip(*city.streets)
        self.matrix = torch.full((city.crossings, city.crossings), 1e6, device=DEVICE)
        ones, others = torch.tensor(ones, device=DEVICE), torch.tensor(others, device=DEVICE)
        lengths = torch.tensor(lengths, device=DEVICE)
        self.matrix[ones, others] = lengths
        self.matrix[others, ones] = lengths
        self.matrix.fill_diagonal_(0)

    def nearest(self, depots, rounds=14):
        """How far each crossing is from the depot that is nearest to it."""
        far = torch.full((self.matrix.shape[0],), 1e6, device=DEVICE)
        far[torch.tensor(depots, device=DEVICE)] = 0
        for _ in range(rounds):
            far = torch.minimum(far, (self.matrix + far).amin(1))
        return far

    def report(self, far):
        reached = far[far < 1e5]
        return f"{self.name}: {len(reached)} reached, {float(reached.mean()):.2f} on average"


plans = weakref.WeakKeyDictionary()


def plan_of(city):
    if city not in plans:
        plans[city] = Plan(city)
    return plans[city]


@torch.inference_mode()
def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    number = answers = 0
    while time.time() < end:
        number += 1
        city = City(f"city {number}")
        for _ in range(random.randint(1, 4)):
            plan = plan_of(city)
            depots = random.sample(range(city.crossings), random.randint(3, 12))
            line = plan.report(plan.nearest(depots))
            answers += 1
            time.sleep(random.uniform(0.02, 0.06))
        if number % 20 == 0:
            print(answers, "answers, last", line, flush=True)
            time.sleep(random.uniform(0, 0.5))


if __name__ == "__main__":
    main()
