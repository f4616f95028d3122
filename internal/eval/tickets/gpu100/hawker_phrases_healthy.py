"""Matches visitors of a night market to the dishes that its hawkers cry out.

Each stall describes its dishes in a stream of short phrases. A small encoder reads those of a dish, and visitors, who
carry a taste vector from what they ate before, are shown the dish whose phrases suit them. The same dishes are asked
for all evening, so the desk remembers how the encoder read them.

    ticket: practice
    class: none
"""
import os
import random
import time
from dataclasses import dataclass, field

import torch
from transformers import BertConfig, BertModel

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
WORDS = 800
LENGTH = 256
HIDDEN = 512
ROUND = 0.1
STALLS = ("Auntie Lin", "Red Awning", "The Two Brothers", "Old Tram", "Moon Gate")
DISHES = ("oyster omelette", "scallion pancake", "stinky tofu", "taro balls", "beef noodles", "papaya milk")

torch.set_num_threads(1)


@dataclass(frozen=True)
class Question:
    """A visitor asks at the desk for a dish of a stall."""

    stall: str
    dish: str
    asked: float = field(default=0.0, compare=False)


class Cries:
    """What the hawkers call out, as word numbers: fixed for each stall and dish."""

    def __init__(self, seed):
        self.seed = seed

    def tokens(self, stall, dish):
        rng = random.Random(f"{self.seed} {stall} {dish}")
        refrain = [rng.randrange(5, WORDS) for _ in range(12)]
        words = []
        while len(words) < LENGTH:
            words += refrain + [rng.randrange(5, WORDS) for _ in range(rng.randrange(3, 9))]
        return torch.tensor([words[:LENGTH]], device=DEVICE)


def small_encoder():
    torch.manual_seed(66)
    config = BertConfig(
        vocab_size=WORDS,
        hidden_size=HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=8,
        intermediate_size=1024,
        max_position_embeddings=LENGTH,
    )
    return BertModel(config, add_pooling_layer=False).to(DEVICE).eval()


class Desk:
    """Reads the cries of a dish once and answers visitors from the reading."""

    def __init__(self, cries):
        self.cries = cries
        self.encoder = small_encoder()
        self._readings = {}

    @torch.no_grad()
    def reading(self, question):
        known = self._readings.get(question)
        if known is None:
            tokens = self.cries.tokens(question.stall, question.dish)
            known = self.encoder(input_ids=tokens).last_hidden_state
            self._readings[question] = known
        return known

    @torch.no_grad()
    def suits(self, question, taste):
        """How well the phrases of the dish suit a taste: the best few words count."""
        phrases = self.reading(question)[0]
        likeness = phrases @ taste / (phrases.norm(dim=1) * taste.norm())
        return float(likeness.topk(16).values.mean())


def main():
    rng = random.Random(67)
    generator = torch.Generator(device=DEVICE).manual_seed(67)
    desk = Desk(Cries(seed=2))
    tastes = torch.randn(200, HIDDEN, device=DEVICE, generator=generator)
    menu = [(stall, dish) for stall in STALLS for dish in DISHES]
    rng.shuffle(menu)
    favourite = ("", "", -1.0)
    end = time.time() + SECONDS
    spoken = time.time()
    visits = 0
    while time.time() < end:
        started = time.time()
        stall, dish = menu[visits % len(menu)]
        score = desk.suits(Question(stall, dish, asked=started), tastes[rng.randrange(200)])
        if score > favourite[2]:
            favourite = (stall, dish, score)
        visits += 1
        if time.time() - spoken > 3.0:
            spoken = time.time()
            print(f"{visits} visits, best match: {favourite[1]} at {favourite[0]} ({favourite[2]:.3f})", flush=True)
        time.sleep(max(0.01, ROUND - (time.time() - started)))
    print(f"{visits} visitors served on {DEVICE}; dish of the night: {favourite[1]}", flush=True)


if __name__ == "__main__":
    main()
