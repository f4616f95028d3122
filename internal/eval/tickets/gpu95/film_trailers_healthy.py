"""Trailer search of a chain of cinemas: which film does this line belong to?

The lines come from the boxes in the foyers, three of them at a time. A small encoder (a BERT made from a config)
turns a line into states, and the line is compared with the posters of the current programme by late interaction:
for each word of the line the best match among the words of the poster. Encoded texts are remembered, since the same
posters are asked for with each line.

    ticket: practice
    class: none
"""
import asyncio
import functools
import os
import random
import time
import zlib

import torch
from transformers import BertConfig, BertModel

device = "cuda" if torch.cuda.is_available() else "cpu"
WORDS = 384
VOCABULARY = 6000
POSTERS = 12
BOXES = 3
REMEMBERED = 32
SCENES = "chase kiss duel storm train harbour robot dragon wedding heist desert piano lighthouse trial snow".split()


class TrailerEncoder:
    def __init__(self):
        torch.manual_seed(24)
        config = BertConfig(vocab_size=VOCABULARY, hidden_size=512, num_hidden_layers=2, num_attention_heads=8,
                            intermediate_size=1024, max_position_embeddings=WORDS)
        self.model = BertModel(config, add_pooling_layer=False).to(device).eval()
        self.calls = 0
        self.encode = functools.lru_cache(maxsize=REMEMBERED)(self._encode)

    def tokens(self, text):
        numbers = [zlib.crc32(word.encode()) % VOCABULARY for word in text.lower().split()]
        return torch.tensor([numbers[:WORDS]], device=device)

    @torch.no_grad()
    def _encode(self, text):
        self.calls += 1
        states = self.model(input_ids=self.tokens(text)).last_hidden_state
        return states[0].div_(states[0].norm(dim=1, keepdim=True))


class Programme:
    """The posters that hang in the foyer this week."""

    def __init__(self, encoder, dice):
        self.encoder = encoder
        self.posters = {f"film {number}": " ".join(dice.choices(SCENES, k=WORDS)) for number in range(POSTERS)}

    def best(self, line):
        asked = self.encoder.encode(line)
        marks = {}
        for title, poster in self.posters.items():
            match = asked @ self.encoder.encode(poster).T
            marks[title] = float(match.max(dim=1).values.mean())
        return max(marks, key=marks.get)


class Desk:
    def __init__(self, programme):
        self.programme = programme
        self.questions = asyncio.Queue(maxsize=8)
        self.answered = 0
        self.votes = dict.fromkeys(programme.posters, 0)

    async def ask(self, line):
        reply = asyncio.get_running_loop().create_future()
        await self.questions.put((line, reply))
        return await reply

    async def serve(self):
        while True:
            line, reply = await self.questions.get()
            title = self.programme.best(line)
            self.votes[title] += 1
            self.answered += 1
            if not reply.cancelled():
                reply.set_result(title)
            await asyncio.sleep(0)


async def foyer_box(desk, number, end):
    dice = random.Random(number)
    visitor = 0
    while time.time() < end:
        visitor += 1
        scenes = " ".join(dice.choices(SCENES, k=WORDS - 4))
        await desk.ask(f"box {number} visitor {visitor} {scenes}")
        await asyncio.sleep(0.2 + 0.1 * dice.random())


async def notices(desk, encoder, end):
    while time.time() < end:
        await asyncio.sleep(3.0)
        favourite = max(desk.votes, key=desk.votes.get)
        print(f"answered {desk.answered}, encoder calls {encoder.calls}, favourite {favourite}", flush=True)


async def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    encoder = TrailerEncoder()
    desk = Desk(Programme(encoder, random.Random(1927)))
    server = asyncio.create_task(desk.serve())
    boxes = [foyer_box(desk, number, end) for number in range(BOXES)]
    await asyncio.gather(*boxes, notices(desk, encoder, end))
    server.cancel()


if __name__ == "__main__":
    asyncio.run(main())
