"""Guests of a planetarium take a seat and turn the sky with a wheel; the sky of a seat is drawn anew at each turn.
Each visit draws into a memory pool of its own, so that guests do not break up one another's blocks. When the guest
gets up, the visit is taken off the list.

ticket: practice
class: pool-growth
holder: Dome pools MemPool
cause: pool-never-trims
"""

import contextlib
import itertools
import os
import random
import time

import torch
from torch.nn import functional as F

HEIGHT, WIDTH, STARS = 256, 768, 20_000
SEATS = 3


class Visit:
    def __init__(self):
        self.angle, self.turns = random.random(), random.randint(8, 20)

    def turn(self):
        self.angle = (self.angle + random.uniform(-0.1, 0.1)) % 1.0
        self.turns -= 1


class Dome:
    def __init__(self, device):
        self.device = device
        self.height = torch.rand(STARS, device=device)
        self.around = torch.rand(STARS, device=device)
        self.colours = torch.rand(3, STARS, device=device) ** 4
        edge = torch.exp(-torch.linspace(-2, 2, 9, device=device) ** 2)
        self.glow = (edge[:, None] * edge[None, :]).expand(3, 1, 9, 9).contiguous()
        self.visits, self.pools, self.numbers = {}, {}, itertools.count(1)

    def admit(self):
        number = next(self.numbers)
        self.visits[number] = Visit()
        if self.device == "cuda":
            self.pools[number] = torch.cuda.MemPool()  # keeps

    def leave(self, number):
        del self.visits[number]

    def own_memory(self, number):
        return torch.cuda.use_mem_pool(self.pools[number]) if self.device == "cuda" else contextlib.nullcontext()

    def draw(self, number):
        """Draw the sky that the guest sees and give how bright it is."""
        with self.own_memory(number):
            return self.sky(self.visits[number].angle).mean().item()  # grows

    def sky(self, angle):
        column = ((self.around + angle) % 1.0 * (WIDTH - 1)).long()
        row = (self.height * (HEIGHT - 1)).long()
        plain = torch.zeros(3, HEIGHT * WIDTH, device=self.device)
        plain.index_add_(1, row * WIDTH + column, self.colours)
        plain = plain.view(1, 3, HEIGHT, WIDTH)
        bright = plain + 0.5 * F.conv2d(plain, self.glow, padding=4, groups=3)
        return bright / (1 + bright)


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dome, drawn = Dome(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        if len(dome.visits) < SEATS:
            dome.admit()
        for number, visit in list(dome.visits.items()):
            brightness = dome.draw(number)
            visit.turn()
            drawn += 1
            if drawn % 40 == 0:
                print(f"{drawn} skies, guest {number} sees {brightness:.4f}", flush=True)
            if not visit.turns:
                dome.leave(number)
        time.sleep(random.uniform(0.1, 0.25))


if __name__ == "__main__":
    main()
