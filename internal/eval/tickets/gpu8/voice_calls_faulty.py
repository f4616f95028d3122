"""Calls come in, and an asyncio service marks in which parts of them somebody speaks, by a network on the device. A
call that has been silent for a quarter of an hour is let go by a timer, which each piece of its sound starts anew.

ticket: practice
class: host-growth
holder: expire loop
cause: timers-left callbacks-left
"""

import asyncio
import os
import random
import time

import numpy as np
import torch
from torch import nn

RATE, SILENT = 16000, 900


class Call:
    """What is known of a call."""

    def __init__(self, number):
        self.number, self.sound, self.speech, self.timer = number, [], [], None

    def add(self, piece):
        self.sound.append(piece)

    def last_second(self):
        joined = np.concatenate(self.sound[-6:])[-RATE:]
        return np.pad(joined, (RATE - len(joined), 0))


class Service:
    def __init__(self, device):
        self.device, self.loop, self.calls, self.ended = device, asyncio.get_running_loop(), {}, 0
        self.net = nn.Sequential(nn.Conv1d(1, 24, 400, 160), nn.ReLU(), nn.Conv1d(24, 48, 5, 2), nn.ReLU(),
                                 nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(48, 1)).to(device).eval()

    def touch(self, call):
        call.timer = self.loop.call_later(SILENT, self.expire, call)  # keeps

    def expire(self, call):
        if self.calls.pop(call.number, None):
            print("call", call.number, "was silent for too long", flush=True)

    @torch.inference_mode()
    def speaks(self, second):
        return float(torch.sigmoid(self.net(torch.from_numpy(second)[None, None].to(self.device))))

    async def hear(self, number, piece):
        call = self.calls.setdefault(number, Call(number))
        call.add(piece)
        self.touch(call)
        call.speech.append(await asyncio.to_thread(self.speaks, call.last_second()))

    def hang_up(self, number):
        call = self.calls.pop(number)
        self.ended += 1
        if self.ended % 8 == 0:
            speech = round(np.mean(call.speech), 3)
            print(self.ended, "calls,", len(self.calls), "under way, speech", speech, flush=True)


async def caller(service, number):
    """One call, from its first piece to its end."""
    numbers = np.random.default_rng(number)
    for _ in range(random.randint(8, 30)):
        size = int(RATE * random.uniform(0.2, 0.7))
        piece = numbers.normal(0, 0.1, size).astype(np.float32)  # grows
        await service.hear(number, piece)
        await asyncio.sleep(random.uniform(0.05, 0.2))
    service.hang_up(number)


async def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    service, running, number = Service("cuda" if torch.cuda.is_available() else "cpu"), set(), 0
    while time.time() < end:
        if len(running) < 12:
            task = asyncio.create_task(caller(service, number))
            running.add(task)
            task.add_done_callback(running.discard)
            number += 1
        await asyncio.sleep(random.expovariate(1 / 0.15))
    for task in running:
        task.cancel()


if __name__ == "__main__":
    asyncio.run(main())
