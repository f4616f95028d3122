"""Simultaneous exhibitions of a chess club, with a small language model at the boards.

A guest plays on thirty-two boards at once, and the model (GPT-2 in shape, moves as tokens) answers for the
club's side. Several exhibitions run side by side in the hall and take turns; an exhibition holds on to the
attention cache of its boards from move to move, so that only the newest move has to be read. An exhibition
ends with mate on the last board or with the guest giving up, and the next one is seated at the free tables.

ticket: practice
class: app-leak
holder: playing cache
cause: entries-left
"""
import os
import time
from collections import Counter, deque

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel

device = "cuda" if torch.cuda.is_available() else "cpu"

BOARDS = 32
MOVES = 512
OPENING = 32
TABLES = 4
PLIES_PER_SECOND = 22.0


def club_player():
    config = GPT2Config(vocab_size=MOVES, n_positions=128, n_embd=256, n_layer=4, n_head=4,
                        bos_token_id=0, eos_token_id=0)
    return GPT2LMHeadModel(config).to(device).eval()


class Exhibition:
    """One guest against thirty-two boards."""

    def __init__(self, number, rng):
        self.number = number
        self.openings = torch.from_numpy(rng.integers(1, MOVES, size=(BOARDS, OPENING)))
        self.patience = int(rng.integers(12, 24))
        self.ending = "mate" if number % 3 == 0 else "resignation"
        self.cache = None
        self.newest = None
        self.plies = 0
        self.daring = []

    def unread(self):
        if self.newest is None:
            return self.openings.to(device)
        return self.newest

    @property
    def over(self):
        return self.plies >= self.patience


class Hall:
    def __init__(self, model, seed=3):
        self.model = model
        self.rng = np.random.default_rng(seed)
        self.dice = torch.Generator(device=device).manual_seed(seed)
        self.playing = {}
        self.turns = deque()
        self.results = Counter()
        self.seated = 0
        self.last_daring = 0.0
        for _ in range(TABLES):
            self.seat()

    def seat(self):
        exhibition = Exhibition(self.seated, self.rng)
        self.seated += 1
        self.playing[exhibition.number] = exhibition  # keeps
        self.turns.append(exhibition.number)

    @torch.no_grad()
    def answer(self, exhibition):
        out = self.model(input_ids=exhibition.unread(), past_key_values=exhibition.cache, use_cache=True)  # grows
        exhibition.cache = out.past_key_values  # keeps
        chances = torch.softmax(out.logits[:, -1].float() / 0.8, dim=-1)
        exhibition.newest = torch.multinomial(chances, 1, generator=self.dice)
        picked = chances.gather(1, exhibition.newest)
        exhibition.daring.append(-picked.log().mean().item())
        exhibition.plies += 1

    def mate(self, exhibition):
        self.results["mate"] += 1
        self.score(self.playing.pop(exhibition.number))

    def resignation(self, exhibition):
        self.results["resignation"] += 1
        self.score(exhibition)

    def score(self, exhibition):
        self.last_daring = sum(exhibition.daring) / len(exhibition.daring)

    def take_turn(self):
        """The exhibition whose turn it is plays one ply on all of its boards."""
        number = self.turns.popleft()
        exhibition = self.playing[number]
        self.answer(exhibition)
        if exhibition.over:
            getattr(self, exhibition.ending)(exhibition)
            self.seat()
        else:
            self.turns.append(number)

    def board(self):
        endings = ", ".join(f"{count} by {name}" for name, count in sorted(self.results.items()))
        return f"{self.seated} seated, ended {endings or 'none'}, daring of the last {self.last_daring:.2f} nats"


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.manual_seed(17)
    hall = Hall(club_player())
    clock, ply = time.time(), 0
    while clock < end:
        hall.take_turn()
        ply += 1
        if ply % 80 == 0:
            print(f"ply {ply}: {hall.board()}", flush=True)
        clock = max(time.time(), clock + 1.0 / PLIES_PER_SECOND)
        time.sleep(max(0.0, clock - time.time()))


if __name__ == "__main__":
    main()
