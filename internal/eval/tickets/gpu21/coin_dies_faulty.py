"""A workshop cuts dies for medals, and a service computes with cupy (a GPU only) what a customer will get: from heights
that were drawn, where a round tool can reach, and what is left standing. Customers try several tools before they order.
Every customer has a pool of memory, so that no one can take away the memory of another.

ticket: practice
class: pool-growth
holder: pools workshop Workshop
cause: pool-never-trims cache-without-bound pool-for-each-stream
"""

import os
import random
import tempfile
import time

os.environ.setdefault("CUPY_CACHE_DIR", tempfile.mkdtemp())

import cupy as cp
import numpy as np

SIDE, OPEN = 896, 3
TOOLS = 2, 3, 4, 6  # how far a tool reaches to the side, in pixels


def draw(seed):
    """Rings, letters all around, and a head in the middle: heights between 0 and 1."""
    luck = np.random.RandomState(seed)
    down, across = np.mgrid[-1:1:SIDE * 1j, -1:1:SIDE * 1j].astype(np.float32)
    far, angle = np.hypot(down, across), np.arctan2(down, across)
    letters = np.sin(luck.randint(20, 60) * angle) * (np.abs(far - 0.8) < 0.08)
    head = np.exp(-((down * 1.2) ** 2 + (across - luck.uniform(-0.1, 0.1)) ** 2) * 9)
    return (0.2 + 0.3 * letters + 0.5 * head + 0.1 * (far > 0.94)).astype(np.float32)


def reach(heights, tool):
    """How deep the tip of a round tool can go at each place, without cutting what is to stay."""
    rim = cp.pad(heights, tool, mode="edge")  # grows
    deepest = heights.copy()  # grows
    for down in range(-tool, tool + 1, 2):
        for across in range(-tool, tool + 1, 2):
            if down * down + across * across <= tool * tool:
                lift = 0.01 * (down * down + across * across) / tool
                part = rim[tool + down:tool + down + SIDE, tool + across:tool + across + SIDE]
                deepest = cp.maximum(deepest, part - lift)  # grows
    return deepest


class Workshop:
    def __init__(self):
        self.pools, self.previews, self.ordered = {}, 0, 0

    def pool_of(self, customer):
        if customer not in self.pools:
            self.pools[customer] = cp.cuda.MemoryPool()  # keeps
        return self.pools[customer]

    def preview(self, customer, drawing, tool):
        """How much is left standing, and a small picture of it."""
        with cp.cuda.using_allocator(self.pool_of(customer).malloc):
            heights = cp.asarray(drawing)
            left = reach(heights, tool) - heights
            picture = cp.asnumpy(left[::8, ::8])
            standing = float(left.mean())
            del heights, left
        self.previews += 1
        return standing, picture

    def leave(self, customer):
        self.ordered += 1


def main():
    workshop, customers, number, said = Workshop(), {}, 0, time.time()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        while len(customers) < OPEN:
            number += 1
            customers[number] = draw(number), random.randint(2, 6)
        customer = random.choice(list(customers))
        drawing, patience = customers[customer]
        standing, picture = workshop.preview(customer, drawing, random.choice(TOOLS))
        customers[customer] = drawing, patience - 1
        if patience <= 1:
            workshop.leave(customer)
            del customers[customer]
        if time.time() - said > 2:
            said = time.time()
            print("previews", workshop.previews, "ordered", workshop.ordered, "left standing", round(standing, 4),
                  "at most", round(float(picture.max()), 3), flush=True)
        time.sleep(random.uniform(0.1, 0.35))


if __name__ == "__main__":
    main()
