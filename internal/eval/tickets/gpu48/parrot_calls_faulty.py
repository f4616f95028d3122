"""A service that tells from ten seconds of sound which parrot is calling. Calls that arrive together are answered in
one batch; a call that has no answer after a quarter of an hour is given up, so that no client waits for ever.

ticket: practice
class: host-growth
holder: TimerHandle _scheduled loop give_up sound
cause: timers-left callbacks-left
"""

import asyncio
import os
import random
import time

import numpy as np
import torch
from torch import nn

RATE, TIME, WINDOW = 16_000, 10, 400
PARROTS = "kea", "kaka", "galah", "corella", "lory", "macaw"
CLIENTS, BATCH, PATIENCE = 8, 16, 900


class Ear(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(WINDOW))
        self.hear = nn.Sequential(nn.Linear(WINDOW // 2 + 1, 64), nn.ReLU(), nn.Linear(64, len(PARROTS)))

    def forward(self, sounds):
        frames = sounds.unfold(1, WINDOW, WINDOW) * self.window
        return self.hear(torch.fft.rfft(frames).abs().log1p()).mean(dim=1)


class Call:
    def __init__(self, sound, answer):
        self.sound, self.answer = sound, answer

    def give_up(self):
        if not self.answer.done():
            self.answer.set_exception(TimeoutError("the parrot service does not answer"))


class Service:
    def __init__(self, device):
        self.device = device
        self.ear = Ear().to(device).eval()
        self.waiting = asyncio.Queue(maxsize=64)
        self.answered = 0

    async def ask(self, sound):
        loop = asyncio.get_running_loop()
        call = Call(sound, loop.create_future())
        loop.call_later(PATIENCE, call.give_up)  # keeps
        await self.waiting.put(call)
        return await call.answer

    @torch.no_grad()
    def listen(self, calls):
        sounds = torch.from_numpy(np.stack([call.sound for call in calls])).to(self.device)
        return self.ear(sounds).argmax(dim=1).tolist()

    async def serve(self):
        while True:
            calls = [await self.waiting.get()]
            await asyncio.sleep(0.05)
            while len(calls) < BATCH and not self.waiting.empty():
                calls.append(self.waiting.get_nowait())
            for call, best in zip(calls, self.listen(calls)):
                if not call.answer.done():
                    call.answer.set_result(PARROTS[best])
            self.answered += len(calls)


async def client(service, seed, end):
    """Someone in a forest, who sends what the microphone hears."""
    random_ = np.random.default_rng(seed)
    while time.time() < end:
        sound = random_.standard_normal(RATE * TIME, dtype=np.float32)  # grows
        await service.ask(sound)
        del sound
        await asyncio.sleep(random.uniform(0.1, 0.5))


async def watch(service, end):
    while time.time() < end:
        await asyncio.sleep(min(3, max(0.1, end - time.time())))
        print(service.answered, "calls answered,", service.waiting.qsize(), "waiting", flush=True)


async def serve_all(device):
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    service = Service(device)
    server = asyncio.create_task(service.serve())
    await asyncio.gather(watch(service, end), *(client(service, seed, end) for seed in range(CLIENTS)))
    server.cancel()


def main():
    torch.set_num_threads(1)
    asyncio.run(serve_all("cuda" if torch.cuda.is_available() else "cpu"))


if __name__ == "__main__":
    main()
