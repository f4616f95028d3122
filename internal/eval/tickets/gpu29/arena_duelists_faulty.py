"""A server plays duels in an arena against people. For each duel the policy has a memory on the device, to which every
move seen is added and over which it attends. People come and go as they like: many see a duel through to its end, and
others fall silent, and then the duel is called off after a short wait.

ticket: practice
class: app-leak
holder: memories Fencer
cause: sessions-kept
"""

import asyncio
import itertools
import os
import random
import time

import torch
from torch import nn

SEEN, WIDTH, LENGTH, MOVES = 32, 512, 512, 24
PATIENCE = 0.6


class Fencer:
    def __init__(self, device):
        self.device = device
        self.eyes = nn.Linear(SEEN, WIDTH).to(device)
        self.mind = nn.MultiheadAttention(WIDTH, 4, batch_first=True).to(device)
        self.blade = nn.Linear(WIDTH, MOVES).to(device)
        self.memories, self.lengths = {}, {}

    def greet(self, duel):
        self.memories[duel] = torch.zeros(LENGTH, WIDTH, device=self.device)  # grows keeps
        self.lengths[duel] = 0

    def part(self, duel):
        del self.memories[duel], self.lengths[duel]

    @torch.inference_mode()
    def answer(self, duel, seen):
        memory, length = self.memories[duel], self.lengths[duel]
        now = self.eyes(torch.tensor(seen, device=self.device))
        memory[length % LENGTH] = now
        self.lengths[duel] = length + 1
        known = memory[None, : min(length + 1, LENGTH)]
        thought, _ = self.mind(now[None, None], known, known, need_weights=False)
        return self.blade(thought[0, 0]).argmax().item()


class Person:
    def __init__(self):
        self.steadiness = random.choice((0.8, 0.95, 1.0))
        self.strokes = random.randint(4, 10)

    async def stroke(self):
        """What the camera sees of the next stroke. It may never come."""
        if random.random() > self.steadiness:
            await asyncio.sleep(60)
        await asyncio.sleep(random.uniform(0.05, 0.15))
        return [random.gauss(0, 1) for _ in range(SEEN)]


class Arena:
    def __init__(self, fencer):
        self.fencer, self.numbers = fencer, itertools.count(1)
        self.fought = self.called_off = self.hits = 0

    async def duel(self, person):
        number = next(self.numbers)
        self.fencer.greet(number)
        for _ in range(person.strokes):
            seen = await asyncio.wait_for(person.stroke(), PATIENCE)
            self.hits += self.fencer.answer(number, seen) % 7 == 0
        self.fencer.part(number)

    async def host(self):
        try:
            await self.duel(Person())
            self.fought += 1
        except asyncio.TimeoutError:
            self.called_off += 1


async def serve(device, end):
    arena, guests = Arena(Fencer(device)), set()
    last = time.time()
    while time.time() < end:
        guest = asyncio.create_task(arena.host())
        guests.add(guest)
        guest.add_done_callback(guests.discard)
        await asyncio.sleep(random.expovariate(10))
        if time.time() - last > 3:
            last = time.time()
            print(f"{arena.fought} duels, {arena.called_off} called off, {arena.hits} hits", flush=True)
    for guest in list(guests):
        guest.cancel()
    await asyncio.gather(*guests, return_exceptions=True)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    asyncio.run(serve(device, time.time() + float(os.environ.get("SECONDS", "45"))))


if __name__ == "__main__":
    main()
