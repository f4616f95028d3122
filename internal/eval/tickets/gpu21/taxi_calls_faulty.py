"""People call for a taxi and say where they are. A small service recognises the street: calls that wait are put
together into a batch, and a caller who has waited for too long is connected to a person instead. On busy evenings that
happens a lot. What callers said stays in the table of those who wait when they have been connected to a person.

ticket: practice
class: app-leak
holder: waiting desk Desk
cause: buffer-without-bound results-kept futures-kept
"""

import asyncio
import os
import random
import time

import torch
from torch import nn

RATE, STREETS, BATCH, PATIENCE = 16_000, 400, 3, 0.9
SECONDS_SAID = (12, 18, 24)


class Ears(nn.Module):
    """A voice's waveform to the scores of the streets."""

    def __init__(self):
        super().__init__()
        self.frames = nn.Conv1d(1, 24, 400, 320)
        self.hear = nn.Sequential(nn.ReLU(), nn.Conv1d(24, 32, 5, 2), nn.ReLU(), nn.AdaptiveAvgPool1d(8), nn.Flatten())
        self.street = nn.Linear(256, STREETS)

    def forward(self, voices):
        return self.street(self.hear(self.frames(voices[:, None])))


class Desk:
    def __init__(self, device):
        self.device, self.ears = device, Ears().to(device).eval()
        self.waiting, self.number = {}, 0
        self.understood = self.given_up = 0

    async def ask(self, said):
        """The street that was said, or None if that took too long."""
        self.number += 1
        number, answer = self.number, asyncio.get_running_loop().create_future()
        voice = torch.from_numpy(said).to(self.device, copy=True)  # grows
        self.waiting[number] = voice, answer  # keeps
        try:
            street = await asyncio.wait_for(answer, PATIENCE)
            self.understood += 1
            return street
        except asyncio.TimeoutError:
            self.given_up += 1
            return None

    def next_batch(self):
        """Those who called last come first, so that at least some need not wait at all."""
        open_ones = [number for number, (_, answer) in self.waiting.items() if not answer.done()]
        return open_ones[-BATCH:]

    @torch.no_grad()
    def recognise(self, numbers):
        length = max(len(self.waiting[number][0]) for number in numbers)
        voices = torch.zeros(len(numbers), length, device=self.device)
        for row, number in enumerate(numbers):
            voice = self.waiting[number][0]
            voices[row, :len(voice)] = voice
        return self.ears(voices).argmax(1).tolist()

    async def work(self):
        while True:
            numbers = self.next_batch()
            if numbers:
                for number, street in zip(numbers, self.recognise(numbers)):
                    _, answer = self.waiting.pop(number)
                    answer.set_result(street)
            await asyncio.sleep(random.uniform(0.4, 0.8))


async def caller(desk):
    said = torch.randn(RATE * random.choice(SECONDS_SAID)).mul_(0.1).numpy()
    await desk.ask(said)


async def evening():
    desk = Desk("cuda" if torch.cuda.is_available() else "cpu")
    worker, said = asyncio.create_task(desk.work()), time.time()
    calls, end = set(), time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        call = asyncio.create_task(caller(desk))
        calls.add(call)
        call.add_done_callback(calls.discard)
        if time.time() - said > 2:
            said = time.time()
            print("calls", desk.number, "understood", desk.understood, "to a person", desk.given_up, flush=True)
        await asyncio.sleep(random.uniform(0.05, 0.2))
    worker.cancel()


if __name__ == "__main__":
    torch.set_num_threads(1)
    asyncio.run(evening())
