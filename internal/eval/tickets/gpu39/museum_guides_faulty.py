"""Visitors of a museum ask a guide, which is a small language model, about what they see. The museum has a few halls
and many visits; so that visits do not break up each other's memory, each visit has a memory pool of its own.

ticket: practice
class: pool-growth
holder: pools MemPool Guide
cause: pool-never-trims sessions-kept
"""

import contextlib
import itertools
import os
import random
import time
from dataclasses import dataclass

import torch
from torch import nn

WORDS, WIDTH, LONGEST, ANSWER = 6_000, 384, 384, 4
HALLS = "bronze", "porcelain", "armour"


class Teller(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.places = nn.Parameter(0.1 * torch.randn(LONGEST + ANSWER, WIDTH))
        layer = nn.TransformerEncoderLayer(WIDTH, 6, 1024, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, tokens):
        hidden = self.layers(self.words(tokens) + self.places[:tokens.shape[1]])
        return hidden[:, -1] @ self.words.weight.T


@dataclass
class Visit:
    number: int
    hall: str
    questions: int


class Guide:
    def __init__(self, device):
        self.device, self.model = device, Teller().to(device).eval()
        self.pools, self.answers = {}, 0

    def place(self, visit):
        """Where the tensors of this visit are to be."""
        if self.device == "cpu":
            return contextlib.nullcontext()
        name = visit.hall, visit.number
        if name not in self.pools:
            self.pools[name] = torch.cuda.MemPool()  # keeps
        return torch.cuda.use_mem_pool(self.pools[name])

    @torch.inference_mode()
    def answer(self, question):
        """Says a few words, one after the other."""
        tokens, said = question.to(self.device)[None], []  # grows
        for _ in range(ANSWER):
            word = self.model(tokens).argmax(dim=-1, keepdim=True)  # grows
            tokens = torch.cat([tokens, word], dim=1)
            said.append(word.item())
        self.answers += 1
        return said

    def attend(self, visit, end):
        """Answers what one visitor asks on the way through the hall."""
        for _ in range(visit.questions):
            question = torch.randint(WORDS, (random.randint(LONGEST // 2, LONGEST),))
            with self.place(visit):
                self.answer(question)
            time.sleep(random.uniform(0.15, 0.35))
            if time.time() > end:
                break


def main():
    torch.set_num_threads(1)
    guide = Guide("cuda" if torch.cuda.is_available() else "cpu")
    guide.answer(torch.randint(WORDS, (LONGEST,)))
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for number in itertools.count(1):
        visit = Visit(number, HALLS[number % len(HALLS)], random.randint(3, 4))
        guide.attend(visit, end)
        print(f"visit {number} in the hall of {visit.hall}: {guide.answers} answers so far", flush=True)
        if time.time() > end:
            break


if __name__ == "__main__":
    main()
