"""Ornaments for the solo cornet of a brass band, judged by a language model of notes.

Arrangers send in drafts of eight variants of a phrase, written as tokens for pitch and length. A small GPT-2 reads the
variants; its states describe them to a jury that compares each draft with the style of the band a second later. A
draft is either taken into the score or sent back to its arranger.

ticket: practice
class: none
"""
import os
import random
import time
from collections import deque
from dataclasses import dataclass

import torch
from transformers import GPT2Config, GPT2Model

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 0.1
NOTES = 192
VARIANTS, LENGTH, WIDTH = 8, 128, 256
JURY_DELAY = 10


@dataclass
class Draft:
    number: int
    arranger: str
    states: torch.Tensor


class PhraseReader:
    """The language model of notes."""

    def __init__(self, seed):
        torch.manual_seed(seed)
        config = GPT2Config(vocab_size=NOTES, n_positions=LENGTH, n_embd=WIDTH, n_layer=2, n_head=4,
                            bos_token_id=0, eos_token_id=1)
        self.model = GPT2Model(config).to(DEVICE).eval()

    @torch.no_grad()
    def read(self, tokens):
        return self.model(input_ids=tokens, use_cache=False).last_hidden_state


class ScoreRoom:
    def __init__(self, reader, seed):
        self.reader = reader
        self.style = torch.zeros(WIDTH, device=DEVICE)
        self._drafts = {}
        self._waiting = deque()
        self._rng = random.Random(seed)
        self.received = 0
        self.taken = 0
        self.sent_back = 0

    def receive(self, arranger, tokens):
        self.received += 1
        draft = Draft(self.received, arranger, self.reader.read(tokens))
        self._drafts[draft.number] = draft
        self._waiting.append(draft.number)

    def distance(self, draft):
        mean = draft.states.mean(dim=(0, 1))
        return float((mean - self.style).norm())

    def take(self, number):
        draft = self._drafts.pop(number)
        self.style.lerp_(draft.states.mean(dim=(0, 1)), 0.05)
        self.taken += 1

    def send_back(self, number):
        draft = self._drafts.pop(number)
        self.sent_back += 1
        return draft.arranger

    def sit(self):
        """The jury looks at the draft that has waited long enough."""
        if len(self._waiting) <= JURY_DELAY:
            return None
        number = self._waiting.popleft()
        distance = self.distance(self._drafts[number])
        if self._rng.random() < 0.5:
            self.take(number)
        else:
            self.send_back(number)
        return distance


def main():
    torch.set_num_threads(1)
    rng = random.Random(3)
    source = torch.Generator().manual_seed(77)
    room = ScoreRoom(PhraseReader(seed=2), seed=19)
    start = time.monotonic()
    rounds = 0
    distance = None
    next_print = 3.0
    while True:
        now = time.monotonic() - start
        if now >= SECONDS:
            break
        tokens = torch.randint(2, NOTES, (VARIANTS, LENGTH), generator=source).to(DEVICE)
        room.receive(f"arranger-{rng.randrange(12)}", tokens)
        distance = room.sit()
        rounds += 1
        if now >= next_print:
            shown = "-" if distance is None else f"{distance:.3f}"
            print(f"{now:5.1f} s drafts {room.received} taken {room.taken} sent back {room.sent_back} "
                  f"distance {shown}", flush=True)
            next_print += 3.0
        time.sleep(max(0.0, start + rounds * ROUND - time.monotonic()))
    print(f"score closed: {room.taken} of {room.received} drafts taken", flush=True)


if __name__ == "__main__":
    main()
