"""Divers describe a kelp forest over several turns, and a recurrent net keeps up with each of them. What a diver's
session needs on the card comes from an arena of its own, so that a long session does not break up the memory of the
others. Admission holds the number of sessions down.

ticket: practice
class: none
"""

import contextlib
import itertools
import os
import random
import time

import torch
from torch import nn

WIDTH, SEATS = 512, 4


class Arenas:
    """A pool of the allocator for each session."""

    def __init__(self, device):
        self.device, self.arenas = device, {}

    def give_back(self, session):
        self.arenas.pop(session, None)
        torch.cuda.empty_cache()

    @contextlib.contextmanager
    def of(self, session):
        if self.device == "cpu":
            yield
            return
        if session not in self.arenas:
            self.arenas[session] = torch.cuda.MemPool()
        with torch.cuda.use_mem_pool(self.arenas[session]):
            yield


class Forest:
    def __init__(self, device):
        self.device = device
        self.listen = nn.GRU(WIDTH, WIDTH, batch_first=True).to(device).eval()
        self.speak = nn.Linear(WIDTH, WIDTH).to(device).eval()
        self.arenas, self.states, self.turns = Arenas(device), {}, {}
        self.numbers, self.closed = itertools.count(1), 0
        with torch.inference_mode():
            self.speak(self.listen(torch.randn(8, 40, WIDTH, device=device))[0])

    def admit(self):
        if len(self.states) < SEATS:
            session = next(self.numbers)
            with self.arenas.of(session):
                self.states[session] = torch.zeros(1, 8, WIDTH, device=self.device)
            self.turns[session] = random.randint(2, 6)

    @torch.inference_mode()
    def turn(self, session):
        """One turn of a diver: a description of some length, and what the forest answers."""
        with self.arenas.of(session):
            words = torch.randn(8, random.randint(40, 160), WIDTH, device=self.device)
            heard, state = self.listen(words, self.states[session])
            answer = torch.tanh(self.speak(heard)).mean(dim=(1, 2)).tolist()
            self.states[session] = state.contiguous()
        self.turns[session] -= 1
        return answer

    def close(self, session):
        del self.states[session], self.turns[session]
        self.arenas.give_back(session)
        self.closed += 1


def main():
    torch.set_num_threads(1)
    forest = Forest("cuda" if torch.cuda.is_available() else "cpu")
    turns, printed = 0, time.time()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        forest.admit()
        session = random.choice(list(forest.states))
        answer = forest.turn(session)
        turns += 1
        if not forest.turns[session]:
            forest.close(session)
        if time.time() - printed > 3:
            print(f"{turns} turns, {forest.closed} sessions closed, last answer {answer[0]:+.4f}", flush=True)
            printed = time.time()
        time.sleep(random.uniform(0.2, 0.4))


if __name__ == "__main__":
    main()
