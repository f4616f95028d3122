"""A ferry line answers its passengers by chat. A language model streams each answer word by word over asyncio, and
eight passengers talk at once. The sessions that are open, with their keys and values, are kept by number, so that the
crew can see who is being served. Some passengers hang up before the answer is over.

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

WORDS, WIDTH, HEADS, LAYERS = 6_000, 256, 4, 4
LINES, ROOM, ANSWER = 8, 192, 24


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x, memory, start):
        """Reads x, which begins at the place start, and writes its keys and values into the memory."""
        length = x.shape[0]
        q, k, v = self.qkv(self.norm(x)).view(length, 3, HEADS, -1).permute(1, 2, 0, 3)
        memory[0, :, start : start + length], memory[1, :, start : start + length] = k, v
        keys, values = memory[:, :, : start + length]
        future = torch.ones(length, start + length, dtype=torch.bool, device=x.device).triu(start + 1)
        weights = (q @ keys.transpose(1, 2) / WIDTH**0.5).masked_fill(future, float("-inf")).softmax(-1)
        x = x + self.out((weights @ values).transpose(0, 1).reshape(length, WIDTH))
        return x + self.mlp(self.norm2(x))


class Session:
    def __init__(self, device):
        self.memory = torch.zeros(LAYERS, 2, HEADS, ROOM, WIDTH // HEADS, device=device)
        self.length = 0


class Desk:
    def __init__(self, device):
        self.device = device
        self.words = nn.Embedding(WORDS, WIDTH).to(device)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS)).to(device)
        self.sessions = {}

    @torch.no_grad()
    def read(self, session, tokens):
        x = self.words(tokens.to(self.device))
        for block, memory in zip(self.blocks, session.memory):
            x = block(x, memory, session.length)
        session.length += len(tokens)
        logits = x[-1] @ self.words.weight.T
        return torch.multinomial(logits.float().softmax(-1), 1).cpu()

    async def stream(self, number, question):
        session = self.sessions[number] = Session(self.device)
        try:
            token = self.read(session, question)
            for _ in range(ANSWER):
                yield token.item()
                await asyncio.sleep(random.uniform(0.02, 0.06))
                token = self.read(session, token)
        finally:
            del self.sessions[number]


async def passenger(desk, numbers, tally, end):
    """One line: a passenger after another asks something, and a third of them hang up."""
    while time.time() < end:
        question = torch.randint(WORDS, (random.randint(60, 160),))
        patience = random.randint(4, 16) if random.random() < 0.35 else ANSWER
        heard = 0
        async for _ in desk.stream(next(numbers), question):
            heard += 1
            if heard > patience:
                tally["hung up"] += 1
                break
        tally["served"] += 1
        await asyncio.sleep(random.uniform(0.05, 0.3))


async def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    desk, numbers, tally = Desk(device), itertools.count(), {"served": 0, "hung up": 0}
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    lines = [asyncio.create_task(passenger(desk, numbers, tally, end)) for _ in range(LINES)]
    while time.time() < end:
        await asyncio.sleep(2)
        print(", ".join(f"{count} {what}" for what, count in tally.items()), flush=True)
    await asyncio.gather(*lines)


if __name__ == "__main__":
    asyncio.run(main())
