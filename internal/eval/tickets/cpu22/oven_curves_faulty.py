"""A pastry shop works out beforehand how a batch will bake.  For each batch a worker lets the heat creep into the dough
of a few hundred pieces, and the baker reads the browning and the core temperature off the course of the bake.  The
batches are read in the order in which they were put in.

ticket: practice
class: host-growth
holder: _bakes
cause: futures-kept
"""
import collections
import concurrent.futures
import os
import time

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_A_SECOND = 6
LAYERS = 48
MINUTES = 24
PIECES = 220
DOUGHS = {"brioche": 0.16, "choux": 0.22, "puff": 0.19, "sable": 0.13}


class BakePlan:
    """What goes into the oven, and how hot it is."""

    def __init__(self, batch, dough, oven_c, seed):
        self.batch = batch
        self.dough = dough
        self.oven_c = oven_c
        self.seed = seed


class OvenMap:
    """How hot the oven is at each place; measured once with a wire of probes."""

    def __init__(self, rng):
        self.places = rng.normal(1.0, 0.03, (64, PIECES, LAYERS * 8)).astype(np.float32)

    def factor(self, seed):
        return self.places[seed % 64, :, :1]


def bake(plan, oven_map):
    """The temperature of each layer of each piece, minute by minute."""
    rng = np.random.default_rng(plan.seed)
    course = np.empty((MINUTES, PIECES, LAYERS), dtype=np.float32)  # grows
    course[0] = 22.0 + rng.normal(0.0, 0.5, (PIECES, LAYERS))
    outside = plan.oven_c * oven_map.factor(plan.seed)
    creep = DOUGHS[plan.dough]
    for minute in range(1, MINUTES):
        before = course[minute - 1]
        now = course[minute]
        now[:, 1:-1] = before[:, 1:-1] + creep * (before[:, 2:] + before[:, :-2] - 2.0 * before[:, 1:-1])
        now[:, :1] = before[:, :1] + 0.3 * (outside - before[:, :1])
        now[:, -1:] = before[:, -1:] + 0.3 * (outside - before[:, -1:])
    return plan, course


class BakeBook:
    """Hands the plans to the worker and reads the courses as they get ready."""

    def __init__(self, pool, oven_map):
        self.pool = pool
        self.oven_map = oven_map
        self._bakes = []
        self.next_unread = 0
        self.browning = collections.defaultdict(lambda: collections.deque(maxlen=50))
        self.read = 0

    def put_in(self, plan):
        self._bakes.append(self.pool.submit(bake, plan, self.oven_map))  # keeps

    def read_ready(self):
        while self.next_unread < len(self._bakes) and self._bakes[self.next_unread].done():
            plan, course = self._bakes[self.next_unread].result()
            crust = course[:, :, 0]
            core = float(course[-1, :, LAYERS // 2].mean())
            brown = float(np.clip(crust - 120.0, 0.0, None).sum(axis=0).mean())
            self.browning[plan.dough].append((brown, core))
            self.next_unread += 1
            self.read += 1

    def waiting(self):
        return len(self._bakes) - self.next_unread

    def advice(self, dough):
        seen = self.browning[dough]
        if not seen:
            return 0.0, 0.0
        return sum(b for b, _ in seen) / len(seen), sum(c for _, c in seen) / len(seen)


def main():
    rng = np.random.default_rng(2208)
    oven_map = OvenMap(rng)
    names = sorted(DOUGHS)
    start = time.monotonic()
    rounds = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=1, thread_name_prefix="oven") as pool:
        book = BakeBook(pool, oven_map)
        while time.monotonic() - start < SECONDS:
            dough = names[int(rng.integers(0, len(names)))]
            book.put_in(BakePlan(rounds, dough, float(rng.uniform(165.0, 215.0)), 5000 + rounds))
            if book.waiting() > 2:
                book.read_ready()
            rounds += 1
            if rounds % (ROUNDS_A_SECOND * 3) == 0:
                brown, core = book.advice(dough)
                print(f"batch {rounds:5d}  {dough:8s} browning {brown:7.1f}  core {core:5.1f} C  "
                      f"waiting {book.waiting()}", flush=True)
            time.sleep(1.0 / ROUNDS_A_SECOND)
        book.read_ready()
    print(f"oven off: {rounds} batches put in, {book.read} read", flush=True)


if __name__ == "__main__":
    main()
