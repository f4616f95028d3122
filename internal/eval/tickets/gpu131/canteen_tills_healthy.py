"""Self-service tills of a large school canteen.

A pupil who steps up to a till opens a visit: the camera over the tray gives a block of patch features, from
which the dishes on the tray are recognised while the pupil moves along. After a few seconds the visit is
settled from the meal account, or, where the account does not cover the bill, the amount is put on a slip
for the parents. The kitchen sees the counts of the dishes.

ticket: practice
class: none
"""
import os
import random
import time

import torch

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 6
ROUNDS_PER_ARRIVAL = 2
PATCHES = 24576
FEATURES = 64
DISHES = 20
LOOK_PATCHES = 2048
PRICES = [0.6 + 0.15 * dish for dish in range(DISHES)]


class Visit:
    """One pupil at a till, from the first look of the camera to the settling of the bill."""

    def __init__(self, number, arrived, stay, account, patches):
        self.number = number
        self.leaves = arrived + stay
        self.account = account
        self.patches = patches
        self.votes = torch.zeros(DISHES, device=DEVICE)
        self.looked = 0
        self.settled = False

    def look(self, recogniser):
        start = (self.looked * LOOK_PATCHES) % PATCHES
        self.votes += recogniser.vote(self.patches[start:start + LOOK_PATCHES])
        self.looked += 1

    def bill(self):
        chosen = torch.topk(self.votes, 3).indices.tolist()
        return sum(PRICES[dish] for dish in chosen), chosen


class Recogniser:
    """Votes for dishes by the nearest of their prototypes."""

    def __init__(self, generator):
        self.prototypes = torch.randn(FEATURES, DISHES, generator=generator, device=DEVICE)

    def vote(self, patches):
        scores = patches @ self.prototypes
        return torch.softmax(scores, dim=1).sum(dim=0)


class Canteen:
    """The tills, with the visits now under way and the sums of the day."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.chance = random.Random(seed)
        self.recogniser = Recogniser(self.generator)
        self.visits = {}
        self.arrived = 0
        self.served = [0] * DISHES
        self.takings = 0.0
        self.slips = 0
        self.owed = 0.0

    def arrive(self, now):
        self.arrived += 1
        account = 0.0 if self.arrived % 3 == 0 else self.chance.uniform(12.0, 40.0)
        patches = torch.randn(PATCHES, FEATURES, generator=self.generator, device=DEVICE)
        stay = self.chance.uniform(2.0, 4.8)
        self.visits[self.arrived] = Visit(self.arrived, now, stay, account, patches)

    def advance(self, now):
        for visit in list(self.visits.values()):
            if visit.settled:
                continue
            if now < visit.leaves:
                visit.look(self.recogniser)
            else:
                self.settle(visit)

    def settle(self, visit):
        amount, dishes = visit.bill()
        visit.settled = True
        del self.visits[visit.number]
        for dish in dishes:
            self.served[dish] += 1
        if visit.account < amount:
            self.slips += 1
            self.owed += amount - visit.account
            return
        self.takings += amount

    def favourite(self):
        return max(range(DISHES), key=self.served.__getitem__)


def main():
    torch.set_num_threads(1)
    canteen = Canteen(seed=23)
    started = time.monotonic()
    rounds = 0
    while time.monotonic() - started < SECONDS:
        now = time.monotonic() - started
        if rounds % ROUNDS_PER_ARRIVAL == 0:
            canteen.arrive(now)
        canteen.advance(now)
        rounds += 1
        if rounds % (2 * ROUNDS_PER_SECOND) == 0:
            print(f"{now:6.1f} s  pupils {canteen.arrived:4d}  takings {canteen.takings:8.2f}  "
                  f"slips {canteen.slips:3d}  favourite dish {canteen.favourite():2d}", flush=True)
        due = started + rounds / ROUNDS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"canteen closed: {canteen.arrived} pupils, takings {canteen.takings:.2f}, "
          f"owed {canteen.owed:.2f}", flush=True)


if __name__ == "__main__":
    main()
