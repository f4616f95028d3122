"""Suggest books to the readers at the desks of a library's reading rooms.

When a reader sits down and signs in, the desk puts together a shelf for that reader: some two thousand titles near
the reader's tastes, with their vectors tilted towards what the reader has liked before. Each page that the reader
turns to is encoded and set against the shelf, and the screen of the desk shows the five titles that fit best. When
the reader gets up, the desk is signed out, the house ledger is brought up to date, and the next reader may sit down.

ticket: practice
class: none
"""
import os
import random
import time
import weakref

import torch
from torch import nn

TITLES = 20_000
SHELF = 2_048
WIDTH = 256
DESKS = 8
WORDS = 64
VOCABULARY = 4_000
ROUNDS_A_SECOND = 10.0


class PageEncoder(nn.Module):
    """A vector for the page that lies open on a desk."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.mix = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, pages):
        return nn.functional.normalize(self.mix(self.words(pages).mean(dim=1)), dim=1)


class Ledger:
    """What the house counts: who sits where, and how much was suggested."""

    def __init__(self):
        self.seated = 0
        self.visits = 0
        self.suggested = 0

    def arrived(self):
        self.seated += 1
        self.visits += 1

    def gone(self):
        self.seated -= 1


class Desk:
    """A reader at a desk, from signing in to signing out."""

    def __init__(self, number, reader, catalogue, ledger):
        self.number = number
        self.reader = reader
        self.ledger = ledger
        ledger.arrived()
        taste = nn.functional.normalize(torch.randn(WIDTH, device=catalogue.device), dim=0)
        self.titles = (catalogue @ taste).topk(SHELF).indices
        self.shelf = torch.lerp(catalogue[self.titles], taste.expand(SHELF, WIDTH), 0.2)
        self.signed_out = weakref.finalize(self, ledger.gone)

    def suggest(self, page):
        best = (self.shelf @ page).topk(5).indices
        self.ledger.suggested += 5
        return self.titles[best].tolist()


class ReadingRoom:
    def __init__(self, device, seed):
        self.device = device
        self.dice = random.Random(seed)
        self.encoder = PageEncoder().to(device).eval()
        self.catalogue = nn.functional.normalize(torch.randn(TITLES, WIDTH, device=device), dim=1)
        self.ledger = Ledger()
        self.desks = {}
        self.pages_left = {}
        self.readers = 0
        for number in range(DESKS):
            self.seat(number)

    def seat(self, number):
        self.readers += 1
        self.desks[number] = Desk(number, f"reader {self.readers}", self.catalogue, self.ledger)
        self.pages_left[number] = self.dice.randint(6, 14)

    def rise(self, number):
        desk = self.desks.pop(number)
        return desk.reader

    @torch.no_grad()
    def round(self):
        """Every reader turns a page; those who have read enough get up and make room."""
        pages = torch.randint(0, VOCABULARY, (DESKS, WORDS), device=self.device)
        vectors = self.encoder(pages)
        shown = [self.desks[number].suggest(vectors[number]) for number in range(DESKS)]
        for number in range(DESKS):
            self.pages_left[number] -= 1
            if self.pages_left[number] == 0:
                self.rise(number)
                self.seat(number)
        return shown


def main():
    stop = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(14)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    room = ReadingRoom(device, seed=14)

    rounds = 0
    due = time.time()
    while time.time() < stop:
        shown = room.round()
        rounds += 1
        if rounds % 50 == 0:
            print(f"round {rounds}: {room.ledger.visits} visits, {room.ledger.suggested} titles suggested, "
                  f"desk 0 shows {shown[0]}", flush=True)
        due = max(due + 1.0 / ROUNDS_A_SECOND, time.time() - 0.5)
        time.sleep(max(0.0, due - time.time()))
    print(f"reading rooms close after {room.ledger.visits} visits", flush=True)


if __name__ == "__main__":
    main()
