"""A guide service of an arboretum walks with its visitors. Each visitor carries a hand-set that reports the trees it
passes; the service keeps a taste map of the visitor over the collection, warms it with every tree seen, and tells
which tree to see next. Visitors hand the set in at the gate, or wander off to the tea room and are not heard again.

ticket: practice
class: app-leak
holder: _walks
cause: sessions-kept
"""
import asyncio
import itertools
import os
import random
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
TREES = 1024
TRAITS = 256
ARRIVALS_A_SECOND = 8.0
PLACES = 24
PATIENCE = 0.6
TEA_LOVERS = 0.6


class Collection:
    """Traits of all trees, and how near each stands to each in habit and season."""

    def __init__(self, seed):
        dice = torch.Generator().manual_seed(seed)
        traits = torch.randn(TREES, TRAITS, generator=dice)
        self.traits = torch.nn.functional.normalize(traits, dim=1).to(DEVICE)
        self.nearness = (self.traits @ self.traits.t()).softmax(dim=1)


class Walk:
    """One visitor's way through the trees."""

    def __init__(self, visitor, collection):
        self.visitor = visitor
        self.collection = collection
        self.taste = torch.zeros(TREES, TRAITS, device=DEVICE)  # grows
        self.last_heard = time.monotonic()
        self.seen = []

    def pass_tree(self, tree):
        """Warm the map around the tree and return the tree to see next."""
        self.last_heard = time.monotonic()
        self.seen.append(tree)
        warmth = self.collection.nearness[tree].unsqueeze(1)
        self.taste.mul_(0.9).addcmul_(warmth, self.collection.traits)
        liking = self.taste.sum(dim=0) @ self.collection.traits.t()
        liking[self.seen] = -float("inf")
        return int(liking.argmax())

    def is_quiet(self):
        return time.monotonic() - self.last_heard > PATIENCE


class HandSet:
    """The visitor's side: mostly takes the advice, sometimes goes for tea."""

    def __init__(self, dice):
        self.dice = dice
        self.stops = dice.randint(3, 7)
        self.tea_after = dice.randint(1, 3) if dice.random() < TEA_LOVERS else None
        self.tree = dice.randrange(TREES)

    def report(self, step):
        if self.tea_after is not None and step >= self.tea_after:
            return None
        return self.tree

    def advise(self, tree):
        self.tree = tree if self.dice.random() < 0.7 else self.dice.randrange(TREES)


class GuideService:
    def __init__(self, collection):
        self.collection = collection
        self.places = asyncio.Semaphore(PLACES)
        self.handed_in = 0
        self.wandered = 0
        self.trees_shown = 0
        self._walks = {}

    async def accompany(self, visitor, handset):
        """Serve one visitor from the gate to the gate."""
        async with self.places:
            walk = Walk(visitor, self.collection)
            self._walks[visitor] = walk  # keeps
            for step in itertools.count():
                tree = handset.report(step)
                if tree is not None:
                    handset.advise(walk.pass_tree(tree))
                    self.trees_shown += 1
                elif walk.is_quiet():
                    self.wandered += 1
                    return
                if step >= handset.stops and tree is not None:
                    break
                await asyncio.sleep(0.15)
            del self._walks[visitor]
            self.handed_in += 1

    def where_is(self, visitor):
        """The desk's question: the last tree that a visitor's set has passed."""
        walk = self._walks.get(visitor)
        return walk.seen[-1] if walk is not None and walk.seen else None


async def opening_hours(service):
    dice = random.Random(23)
    start = time.monotonic()
    next_line = start + 2.0
    visits = set()
    for visitor in itertools.count(1):
        if time.monotonic() - start >= SECONDS:
            break
        visit = asyncio.create_task(service.accompany(visitor, HandSet(dice)))
        visits.add(visit)
        visit.add_done_callback(visits.discard)
        if time.monotonic() >= next_line:
            tree = service.where_is(max(1, visitor - 4))
            print(f"handed in {service.handed_in}, wandered {service.wandered}, desk asks: tree {tree}", flush=True)
            next_line += 3.0
        await asyncio.sleep(1.0 / ARRIVALS_A_SECOND)
    await asyncio.gather(*visits)


def main():
    torch.set_num_threads(1)
    service = GuideService(Collection(seed=5))
    asyncio.run(opening_hours(service))
    print(f"closed: {service.trees_shown} trees shown to {service.handed_in + service.wandered} visitors", flush=True)


if __name__ == "__main__":
    main()
