"""A desk of a ferry line answers travellers: each of them asks a few questions in a row about tickets, and a small
language model reads on from what it has already read of this visit. When a visit is over, the desk forgets it.

ticket: practice
class: none
"""

import asyncio
import logging
import os
import random
import time
from dataclasses import dataclass

import torch
from transformers import GPT2Config, GPT2LMHeadModel

log = logging.getLogger("ferry")


@dataclass(frozen=True)
class Office:
    words: int = 4000
    width: int = 512
    layers: int = 6
    answer: int = 6
    travellers: int = 5

    def model(self):
        config = GPT2Config(vocab_size=self.words, n_embd=self.width, n_layer=self.layers, n_head=8,
                            n_positions=1024, bos_token_id=0, eos_token_id=0)
        return GPT2LMHeadModel(config).eval()


@dataclass(frozen=True)
class Visit:
    name: str
    number: int

    @property
    def key(self):
        return self.name, self.number


class Reader:
    def __init__(self, office, device):
        self.office, self.device = office, device
        self.model = office.model().to(device)

    @torch.inference_mode()
    def read(self, tokens, past):
        out = self.model(input_ids=tokens, past_key_values=past, use_cache=True)
        return out.logits[:, -1:].argmax(dim=-1), out.past_key_values

    def answer(self, question, past):
        tokens, words = question.to(self.device), []
        for _ in range(self.office.answer):
            tokens, past = self.read(tokens, past)
            words.append(tokens.item())
        return words, past


class Desk:
    def __init__(self, reader):
        self.reader, self.visits, self.answers = reader, {}, 0

    def ask(self, visit, question):
        words, past = self.reader.answer(question, self.visits.get(visit.key))
        self.visits[visit.key] = past
        self.answers += 1
        if self.answers % 40 == 0:
            log.info("%d answers, the last to %s", self.answers, visit.name)

    def close(self, visit):
        self.visits.pop(visit.key, None)


class Traveller:
    def __init__(self, name, desk, words):
        self.name, self.desk, self.words, self.number = name, desk, words, 0

    async def visit(self):
        self.number += 1
        visit = Visit(self.name, self.number)
        try:
            for _ in range(random.randint(3, 6)):
                self.desk.ask(visit, torch.randint(self.words, (1, random.randint(20, 40))))
                await asyncio.sleep(random.uniform(0.3, 0.6))
        finally:
            self.desk.close(visit)

    async def come_and_go(self, end):
        while time.time() < end:
            await self.visit()


async def serve(office, device, end):
    desk = Desk(Reader(office, device))
    travellers = [Traveller(f"traveller {n}", desk, office.words) for n in range(office.travellers)]
    await asyncio.gather(*(traveller.come_and_go(end) for traveller in travellers))
    print(desk.answers, "answers", flush=True)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")
    torch.set_num_threads(1)
    asyncio.run(serve(Office(), "cuda" if torch.cuda.is_available() else "cpu",
                      time.time() + float(os.environ.get("SECONDS", "45"))))
