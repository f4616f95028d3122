"""The hotline of a ferry company. Travellers call in on a few lines and chat with a small decoder, which says when the
next boat leaves. Each call has its own key and value cache, so that a turn costs only its new tokens.

ticket: practice
class: none
"""

import asyncio
import itertools
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

WORDS, WIDTH, LAYERS, ROOM, LINES = 6_000, 192, 4, 640, 6


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 384), nn.GELU(), nn.Linear(384, WIDTH))

    def forward(self, hidden, keys, values, at):
        q, k, v = self.qkv(hidden).chunk(3, dim=-1)
        stop = at + hidden.shape[0]
        keys[at:stop], values[at:stop] = k, v
        weights = F.softmax(q @ keys[:stop].T / WIDTH**0.5, dim=-1)
        hidden = hidden + self.out(weights @ values[:stop])
        return hidden + self.mlp(hidden)


class Hotline:
    def __init__(self, device):
        self.device = device
        self.embed = nn.Embedding(WORDS, WIDTH).to(device)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS)).to(device).eval()
        self.numbers = itertools.count(1)
        self.caches, self.filled = {}, {}
        self.served = self.dropped = 0

    def pick_up(self):
        call = next(self.numbers)
        cache = torch.zeros(LAYERS, 2, ROOM, WIDTH, device=self.device)
        self.caches[call] = cache
        self.filled[call] = 0
        return call

    def hang_up(self, call):
        del self.caches[call], self.filled[call]

    @torch.inference_mode()
    def answer(self, call, tokens):
        cache, at = self.caches[call], self.filled[call]
        hidden = self.embed(torch.tensor(tokens, device=self.device))
        for block, (keys, values) in zip(self.blocks, cache):
            hidden = block(hidden, keys, values, at)
        self.filled[call] = at + len(tokens)
        return int((hidden[-1] @ self.embed.weight.T).argmax())

    async def talk(self):
        """One call, from ringing to the goodbye."""
        call = self.pick_up()
        try:
            for _ in range(random.randint(3, 8)):
                self.answer(call, [random.randrange(WORDS) for _ in range(random.randint(5, 40))])
                await asyncio.sleep(random.uniform(0.05, 0.25))
                if random.random() < 0.1:
                    raise ConnectionResetError(f"call {call} was cut off")
        finally:
            self.hang_up(call)
        self.served += 1

    async def line(self, end):
        while time.time() < end:
            try:
                await self.talk()
            except ConnectionResetError:
                self.dropped += 1


async def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    hotline = Hotline("cuda" if torch.cuda.is_available() else "cpu")
    lines = [asyncio.create_task(hotline.line(end)) for _ in range(LINES)]
    while time.time() < end:
        await asyncio.sleep(2)
        print(f"{hotline.served} calls served, {hotline.dropped} cut off", flush=True)
    await asyncio.gather(*lines)


if __name__ == "__main__":
    asyncio.run(main())
