"""Guests take photos of menus and get them translated. A request is noted with its photo, put before the engine, which
takes a few at a time, and the guest waits for the answer; who gets tired of waiting goes away, and the request is
taken back.

ticket: vllm-project/vllm#57061
class: host-growth
holder: request_states
cause: results-kept buffer-without-bound
"""

import asyncio
import itertools
import os
import random
import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

GUESTS, AT_ONCE, HIGH, WIDE = 30, 4, 240, 320
DISHES = ("soup", "dumplings", "trout", "cabbage", "goulash", "pancakes", "plums")


@dataclass
class RequestState:
    number: int
    photo: np.ndarray
    answer: asyncio.Future


class Engine:
    def __init__(self, device):
        self.device, self.inbox = device, asyncio.Queue(AT_ONCE)
        self.reader = nn.Sequential(nn.Conv2d(3, 8, 7, stride=4), nn.ReLU(), nn.Conv2d(8, 16, 5, stride=4), nn.ReLU(),
                                    nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(256, len(DISHES))).to(device)

    @torch.no_grad()
    def read(self, photos):
        batch = torch.from_numpy(np.stack(photos)).to(self.device).permute(0, 3, 1, 2).float() / 255
        return [DISHES[dish] for dish in self.reader(batch).argmax(1).tolist()]


class Service:
    def __init__(self, engine):
        self.engine, self.request_states, self.numbers = engine, {}, itertools.count()
        self.answered = self.gone = 0

    async def add_request(self, photo):
        state = RequestState(next(self.numbers), photo, asyncio.get_running_loop().create_future())
        self.request_states[state.number] = state  # keeps
        await self.engine.inbox.put(state.number)
        return state

    def abort(self, number):
        self.request_states.pop(number, None)

    async def translate(self, photo):
        state = None
        try:
            state = await self.add_request(photo)
            return await state.answer
        except asyncio.CancelledError:
            if state is not None:
                self.abort(state.number)
            raise

    async def run(self):
        """Takes what waits before the engine, leaves out what was taken back, and gives the answers."""
        while True:
            numbers = [await self.engine.inbox.get()]
            while len(numbers) < AT_ONCE and not self.engine.inbox.empty():
                numbers.append(self.engine.inbox.get_nowait())
            states = [self.request_states.pop(number) for number in numbers if number in self.request_states]
            if states:
                for state, dish in zip(states, self.engine.read([state.photo for state in states])):
                    if not state.answer.done():
                        state.answer.set_result(dish)
            await asyncio.sleep(random.uniform(0.1, 0.25))


async def guest(service):
    while True:
        photo = np.random.randint(0, 256, (HIGH, WIDE, 3), dtype=np.uint8)  # grows
        try:
            await asyncio.wait_for(service.translate(photo), random.uniform(0.15, 0.8))
            service.answered += 1
        except asyncio.TimeoutError:
            service.gone += 1
        await asyncio.sleep(random.uniform(0.02, 0.4))


async def main():
    torch.set_num_threads(1)
    service = Service(Engine("cuda" if torch.cuda.is_available() else "cpu"))
    tasks = [asyncio.create_task(work) for work in [service.run()] + [guest(service) for _ in range(GUESTS)]]
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        await asyncio.sleep(2)
        print(service.answered, "answered,", service.gone, "went away", flush=True)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(main())
