"""An asyncio service works out how a text reads, on the device. Clients who ask for the same text at the same time
share one task; the entry of a text is taken away when a client has got its answer, but not when it gives up first.

ticket: practice
class: app-leak
holder: inflight
cause: futures-kept results-kept cache-without-bound
"""

import asyncio
import os
import random
import time

import torch
from torch import nn

LENGTH, WIDTH, WINDOW = 384, 512, 0.1


class Reader(nn.Module):
    """A small encoder of bytes."""

    def __init__(self):
        super().__init__()
        self.letters = nn.Embedding(256, WIDTH)
        self.mix = nn.Conv1d(WIDTH, WIDTH, 3, padding=1, groups=8)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, numbers):
        found = self.letters(numbers)
        return self.out(nn.functional.gelu(self.mix(found.transpose(1, 2)).transpose(1, 2)))


class Service:
    def __init__(self, device):
        self.device, self.model = device, Reader().to(device).eval()
        self.inflight, self.turn = {}, asyncio.Semaphore(2)
        self.answered = self.given_up = 0

    @torch.inference_mode()
    def forward(self, text):
        numbers = torch.tensor([list(text.encode()[:LENGTH].ljust(LENGTH))]).to(self.device)
        return self.model(numbers)[0]  # grows

    async def compute(self, text):
        await asyncio.sleep(random.uniform(0.5, 1.0) * WINDOW)
        async with self.turn:
            return await asyncio.to_thread(self.forward, text)

    async def answer(self, text, patience):
        if text not in self.inflight:
            self.inflight[text] = asyncio.create_task(self.compute(text))  # keeps
        states = await asyncio.wait_for(asyncio.shield(self.inflight[text]), patience)
        self.inflight.pop(text, None)
        return states


async def client(service, text):
    try:
        states = await service.answer(text, 0.02 + random.expovariate(1 / 0.1))
    except TimeoutError:
        service.given_up += 1
        return
    service.answered += 1
    if service.answered % 100 == 0:
        print(service.answered, "answered", service.given_up, "given up", round(float(states.std()), 3), flush=True)


async def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    service, running, last = Service(device), set(), []
    words = ["river", "house", "seldom", "green", "carry", "under", "north", "paper", "quiet", "eleven"]
    while time.time() < end:
        for _ in range(random.choice((1, 1, 2, 4))):
            again = last and random.random() < 0.3
            text = random.choice(last) if again else " ".join(random.choices(words, k=random.randint(30, 60)))
            last = [*last[-5:], text]
            task = asyncio.create_task(client(service, text))
            running.add(task)
            task.add_done_callback(running.discard)
        await asyncio.sleep(random.expovariate(1 / 0.09))
    await asyncio.gather(*running)


if __name__ == "__main__":
    asyncio.run(main())
