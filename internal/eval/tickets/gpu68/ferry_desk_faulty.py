"""The telephone desk of a ferry company. Each caller has a dialogue with a small language model, and many call at the
same time. The keys and values of what a caller has said stay on the device while the dialogue goes on, so that a turn
reads only its new words. A dialogue is closed when its caller says goodbye.

ticket: practice
class: app-leak
holder: caches Desk
cause: entries-left
"""

import asyncio
import os
import random
import time

import torch
from torch import nn

WORDS, WIDTH, LAYERS, ROOM = 8_000, 256, 4, 384


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.block = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 512), nn.GELU(), nn.Linear(512, WIDTH))

    def forward(self, hidden, cache, used):
        upto = used + len(hidden)
        query, key, value = self.qkv(hidden).chunk(3, dim=-1)
        cache[0, used:upto], cache[1, used:upto] = key, value
        later = torch.ones(len(hidden), upto, dtype=torch.bool, device=hidden.device).triu(used + 1)
        scores = (query @ cache[0, :upto].T / WIDTH ** 0.5).masked_fill(later, float("-inf"))
        hidden = hidden + self.out(scores.softmax(dim=-1) @ cache[1, :upto])
        return hidden + self.block(hidden)


class Desk:
    def __init__(self, device):
        self.device, self.words = device, nn.Embedding(WORDS, WIDTH).to(device)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS)).to(device)
        self.caches, self.used = {}, {}
        self.turns = self.goodbyes = self.lost = 0

    def open(self, caller):
        self.caches[caller] = torch.zeros(LAYERS, 2, ROOM, WIDTH, device=self.device)  # grows keeps
        self.used[caller] = 0

    @torch.no_grad()
    def answer(self, caller, said):
        cache, used = self.caches[caller], self.used[caller]
        hidden = self.words(said.to(self.device))
        for layer, part in zip(self.layers, cache):
            hidden = layer(hidden, part, used)
        self.used[caller] += len(said)
        self.turns += 1
        return (hidden[-1] @ self.words.weight.T).argmax().item()

    def close(self, caller):
        del self.caches[caller], self.used[caller]


async def hear():
    """What the caller says next."""
    await asyncio.sleep(random.uniform(0.1, 0.4))
    if random.random() < 0.08:
        raise ConnectionResetError("the line is dead")
    return torch.randint(WORDS, (random.randint(6, 24),))


async def serve(desk, caller):
    desk.open(caller)
    try:
        for _ in range(random.randint(3, 9)):
            desk.answer(caller, await hear())
        desk.close(caller)
        desk.goodbyes += 1
    except ConnectionResetError:
        desk.lost += 1


async def main():
    torch.set_num_threads(1)
    desk, caller, calls = Desk("cuda" if torch.cuda.is_available() else "cpu"), 0, set()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        call = asyncio.create_task(serve(desk, caller))
        calls.add(call)
        call.add_done_callback(calls.discard)
        caller += 1
        if caller % 20 == 0:
            print(f"{caller} calls, {desk.turns} turns, {desk.goodbyes} goodbyes, {desk.lost} lost", flush=True)
        await asyncio.sleep(random.uniform(0.05, 0.15))
    await asyncio.gather(*calls)


if __name__ == "__main__":
    asyncio.run(main())
