"""Firings of pottery are tried on the device before the kiln is lit. Each order has a memory pool of its own, so that a
large pot does not scatter its blocks among those of the others. An order is tried a few times with another length of
the firing, and then it is delivered.

ticket: practice
class: pool-growth
holder: pools Workshop MemPool
cause: pool-never-trims entries-left
"""

import contextlib
import os
import random
import time

import torch

SIDES, OPEN, EDGE = (80, 88, 96), 3, 4


class Kiln:
    """How the heat of the kiln walks into a block of clay."""

    def __init__(self, side, device):
        self.clay = torch.full((side, side, side), 20.0, device=device)  # grows

    def heat(self, outside, share=0.14):
        clay = self.clay
        around = torch.zeros_like(clay)  # grows
        for axis in range(3):
            around += torch.roll(clay, 1, axis)  # grows
            around += torch.roll(clay, -1, axis)
        clay = clay + share * (around - 6 * clay)  # grows
        for axis in range(3):
            clay.narrow(axis, 0, EDGE).fill_(outside)
            clay.narrow(axis, clay.shape[axis] - EDGE, EDGE).fill_(outside)
        self.clay = clay

    def core(self):
        middle = self.clay.shape[0] // 2
        return self.clay[middle, middle, middle].item(), self.clay.mean().item()


class Workshop:
    def __init__(self, device):
        self.device, self.orders, self.pools = device, {}, {}

    def take(self, number):
        self.orders[number] = random.choice(SIDES), random.randint(2, 4)
        if self.device == "cuda":
            self.pools[number] = torch.cuda.MemPool()  # keeps

    def room(self, number):
        """Where the order's memory comes from."""
        if self.device == "cuda":
            return torch.cuda.use_mem_pool(self.pools[number])
        return contextlib.nullcontext()

    def fire(self, number, steps):
        side, tries = self.orders[number]
        with self.room(number):
            kiln = Kiln(side, self.device)  # grows
            for step in range(steps):
                kiln.heat(20 + 1180 * (step + 1) / steps)
            core, mean = kiln.core()
        self.orders[number] = side, tries - 1
        return core, mean

    def deliver(self):
        """Closes the orders that have been tried often enough."""
        done = [number for number, (_, tries) in self.orders.items() if tries == 0]
        for number in done:
            del self.orders[number]
        return len(done)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    workshop, taken, delivered, fired = Workshop(device), 0, 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        while len(workshop.orders) < OPEN:
            taken += 1
            workshop.take(taken)
        number = random.choice(list(workshop.orders))
        core, mean = workshop.fire(number, steps=random.randint(6, 12))
        delivered += workshop.deliver()
        fired += 1
        if fired % 10 == 0:
            print(f"{fired} firings, {delivered} orders delivered, last core {core:.0f}, mean {mean:.0f}", flush=True)
        time.sleep(random.uniform(0.2, 0.5))


if __name__ == "__main__":
    main()
