"""Arrival times of ferries for the boards on the quays.

Boards ask when a ferry will dock. For each question a few thousand tracks of the crossing are drawn (speed, tide
and gusts), and the board gets the median and a late bound in minutes. A question that nobody answers within a
quarter of an hour is closed with a standard text.

ticket: practice
class: app-leak
holder: _scheduled guard tracks
cause: timers-left
"""
import asyncio
import math
import os
import random
import statistics
import time
from collections import deque

import torch

PARTICLES = 4096
MINUTES = 128
PATIENCE = 15 * 60.0
FERRIES = {"Alken": 21.0, "Brisa": 14.5, "Corvina": 33.0, "Dorsch": 9.0, "Ellida": 26.5}


class Question:
    """What one board wants to know, until it has been told."""

    def __init__(self, number, ferry, loop):
        self.number = number
        self.ferry = ferry
        self.asked = loop.time()
        self.tracks = None
        self.text = None
        self.guard = loop.call_later(PATIENCE, self.expire)  # keeps

    def expire(self):
        if self.text is None:
            self.text = f"{self.ferry}: please ask at the counter"

    def close(self, median, late):
        self.text = f"{self.ferry}: {median:.0f} min, at the latest {late:.0f} min"


class Strait:
    """The water between the quays: draws how far a ferry gets, minute by minute."""

    def __init__(self, device):
        self.device = device
        self.minute = torch.arange(MINUTES, device=device, dtype=torch.float32)

    def tide(self, phase):
        return 0.06 * torch.sin(2 * math.pi * self.minute / 90.0 + phase)

    def sail(self, knots, phase):
        pace = knots / 60.0 + self.tide(phase)
        gusts = 0.08 * torch.randn(PARTICLES, MINUTES, device=self.device)
        return (pace + gusts).clamp_min_(0.0).cumsum(dim=1)  # grows

    def arrival(self, tracks, miles):
        there = tracks >= miles
        first = there.float().argmax(dim=1)
        return torch.where(there.any(dim=1), first, torch.full_like(first, MINUTES)).float()


class Desk:
    def __init__(self, device, loop):
        self.strait = Strait(device)
        self.loop = loop
        self.waits = deque(maxlen=100)
        self.answered = 0
        self.board = {}

    async def answer(self, number, ferry, rng):
        question = Question(number, ferry, self.loop)
        knots = rng.uniform(17.0, 22.0)
        question.tracks = self.strait.sail(knots, rng.uniform(0, 6.28))  # keeps
        await asyncio.sleep(0.02)
        minutes = self.strait.arrival(question.tracks, FERRIES[ferry])
        await asyncio.sleep(0.02)
        bounds = torch.quantile(minutes, torch.tensor([0.5, 0.95], device=minutes.device)).tolist()
        question.close(*bounds)
        self.board[ferry] = question.text
        self.waits.append(self.loop.time() - question.asked)
        self.answered += 1


async def boards(desk, end):
    """Questions come in a little unevenly, about seven of them a second."""
    rng = random.Random(19)
    names = list(FERRIES)
    number = 0
    running = set()
    while time.time() < end:
        number += 1
        task = asyncio.create_task(desk.answer(number, rng.choice(names), rng))
        running.add(task)
        task.add_done_callback(running.discard)
        await asyncio.sleep(rng.uniform(0.11, 0.17))
    await asyncio.gather(*running)


async def announcer(desk):
    while True:
        await asyncio.sleep(3.0)
        wait = statistics.mean(desk.waits) * 1000 if desk.waits else 0.0
        print(f"{desk.answered} answered, {wait:.0f} ms each; {' | '.join(sorted(desk.board.values()))}", flush=True)


async def serve(end):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    desk = Desk(device, asyncio.get_running_loop())
    speaker = asyncio.create_task(announcer(desk))
    await boards(desk, end)
    speaker.cancel()


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(19)
    asyncio.run(serve(end))


if __name__ == "__main__":
    main()
