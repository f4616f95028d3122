"""A server writes bulletins for ferry passengers with a language model, several at a time. Each bulletin has a cache
of keys and values while it is being written, and the tokens of all bulletins take turns on the device. Passengers do
not wait long: who has no bulletin after a while hangs up.

ticket: practice
class: app-leak
holder: open caches Writer
cause: sessions-kept cache-without-bound
"""

import asyncio
import itertools
import os
import random
import time

import torch
from torch import nn

WORDS, WIDTH, HEADS, LAYERS = 4_000, 256, 4, 4
PATIENCE, PASSENGERS = 0.8, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x, cache, place):
        n = x.shape[0]
        q, k, v = self.qkv(self.before(x)).view(n, 3, HEADS, -1).permute(1, 2, 0, 3)
        cache[0, :, place:place + n], cache[1, :, place:place + n] = k, v
        keys, values = cache[:, :, :place + n]
        later = torch.ones(n, place + n, dtype=torch.bool, device=x.device).triu(place + 1)
        weights = (q @ keys.transpose(1, 2) / keys.shape[-1] ** 0.5).masked_fill(later, float("-inf")).softmax(-1)
        x = x + self.out((weights @ values).transpose(0, 1).reshape(n, WIDTH))
        return x + self.mlp(self.between(x))


class Writer:
    def __init__(self, device):
        self.device = device
        self.words = nn.Embedding(WORDS, WIDTH).to(device)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS)).to(device).eval()
        self.open = {}
        self.numbers = itertools.count()

    @torch.no_grad()
    def step(self, tokens, caches, place):
        x = self.words(torch.tensor(tokens, device=self.device))
        for block, cache in zip(self.blocks, caches):
            x = block(x, cache, place)
        return int((x[-1] @ self.words.weight.T).div(0.8).softmax(-1).multinomial(1))

    async def write(self, prompt, length):
        number = next(self.numbers)
        caches = torch.zeros(LAYERS, 2, HEADS, len(prompt) + length, WIDTH // HEADS, device=self.device)  # grows
        self.open[number] = caches  # keeps
        bulletin = [self.step(prompt, caches, 0)]
        while len(bulletin) < length:
            await asyncio.sleep(0.01)
            bulletin.append(self.step(bulletin[-1:], caches, len(prompt) + len(bulletin) - 1))
        del self.open[number]
        return bulletin


async def passenger(writer, counts, end):
    while time.time() < end:
        await asyncio.sleep(random.uniform(0.02, 0.2))
        prompt = [random.randrange(WORDS) for _ in range(random.randint(20, 160))]
        length = random.choice((12, 20, 28, 40, 140))
        try:
            bulletin = await asyncio.wait_for(writer.write(prompt, length), PATIENCE)
            counts["words"] += len(bulletin)
            counts["read"] += 1
        except asyncio.TimeoutError:
            counts["hung up"] += 1
        if (counts["read"] + counts["hung up"]) % 10 == 0:
            print(", ".join(f"{count} {what}" for what, count in counts.items()), flush=True)


async def main():
    torch.set_num_threads(1)
    writer = Writer("cuda" if torch.cuda.is_available() else "cpu")
    counts = {"read": 0, "hung up": 0, "words": 0}
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    await asyncio.gather(*(passenger(writer, counts, end) for _ in range(PASSENGERS)))


if __name__ == "__main__":
    asyncio.run(main())
