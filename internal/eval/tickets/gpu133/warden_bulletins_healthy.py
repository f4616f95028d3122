"""
Bulletin desk of the wardens in four mountain refuges. A warden issues the condition of paths and weather in a fixed
wording; a language model encodes the words, and a small head on top reads from the encoding how urgent the bulletin
is for the valley stations. The same wordings come back many times a day.

ticket: practice
class: none
"""
import os
import random
import time
from dataclasses import dataclass, field

import torch
from torch import nn
from transformers import BertConfig, BertModel

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 12
WORDS = 256
VOCABULARY = 2000
WIDTH = 512
REFUGES = ("Grauhorn", "Lago Nero", "Weisskees", "Dent Noire")
CONDITIONS = ("clear paths", "fresh snow", "ice on the ladder", "storm by evening")


@dataclass(frozen=True)
class Bulletin:
    refuge: int
    condition: int
    issued: int = field(compare=False)

    def words(self):
        """The wording as word numbers, the same for refuge and condition."""
        rng = random.Random(self.refuge * len(CONDITIONS) + self.condition)
        return [rng.randrange(VOCABULARY) for _ in range(WORDS)]


class Wardens:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.issued = 0

    def next_bulletin(self):
        self.issued += 1
        refuge = self.issued % len(REFUGES)
        return Bulletin(refuge, self.rng.randrange(len(CONDITIONS)), self.issued)


class Encoder:
    """The language model and the encodings of the bulletins that it has read."""

    def __init__(self):
        config = BertConfig(
            vocab_size=VOCABULARY,
            hidden_size=WIDTH,
            num_hidden_layers=2,
            num_attention_heads=8,
            intermediate_size=1024,
            max_position_embeddings=WORDS,
        )
        self.model = BertModel(config, add_pooling_layer=False).to(DEVICE).eval()
        self._encodings = {}

    def encode(self, bulletin):
        encoding = self._encodings.get(bulletin)
        if encoding is None:
            ids = torch.tensor([bulletin.words()], device=DEVICE)
            encoding = self.model(input_ids=ids).last_hidden_state
            self._encodings[bulletin] = encoding
        return encoding


class BulletinDesk:
    def __init__(self, seed):
        torch.manual_seed(seed)
        self.encoder = Encoder()
        self.urgency_head = nn.Linear(WIDTH, 1).to(DEVICE)
        self.wardens = Wardens(seed)
        self.read = 0
        self.urgent = {name: 0 for name in REFUGES}
        self.mean_urgency = 0.5

    @torch.no_grad()
    def step(self):
        bulletin = self.wardens.next_bulletin()
        encoding = self.encoder.encode(bulletin)
        urgency = float(torch.sigmoid(self.urgency_head(encoding.amax(dim=1))))
        self.mean_urgency += 0.05 * (urgency - self.mean_urgency)
        if urgency > self.mean_urgency:
            self.urgent[REFUGES[bulletin.refuge]] += 1
        self.read += 1


def report(desk):
    urgent = ", ".join(f"{name} {count}" for name, count in desk.urgent.items())
    print(f"{desk.read} bulletins read, mean urgency {desk.mean_urgency:.3f}, urgent from {urgent}", flush=True)


def main():
    desk = BulletinDesk(seed=2400)
    start = time.monotonic()
    while time.monotonic() - start < SECONDS:
        desk.step()
        if desk.read % (ROUNDS_PER_SECOND * 4) == 0:
            report(desk)
        pause = start + desk.read / ROUNDS_PER_SECOND - time.monotonic()
        if pause > 0:
            time.sleep(pause)
    print(f"desk closes after {desk.read} bulletins", flush=True)


if __name__ == "__main__":
    main()
