"""Radio beacons report all day, and a small language model says how surprising each report is. The reports are cut
into pieces by a byte-pair tokeniser in plain Python. Since the merges of a word are slow to find and words come
again, they are looked up in a cache of the latest words first.

ticket: practice
class: none
"""

import functools
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

HEX = "0123456789abcdef"
WORDS = "alive at buoy near heading speed knots battery low drift ice fog relay signal lost found".split()
WIDTH, REPORTS, LONGEST = 96, 64, 130


class Tokeniser:
    def __init__(self, seed=7):
        chance = random.Random(seed)
        letters = sorted(set(HEX) | set("".join(WORDS)))
        pairs = [(a, b) for a in letters for b in letters if chance.random() < 0.6]
        pairs += [(a + b, c + d) for a, b in chance.sample(pairs, 100) for c, d in chance.sample(pairs, 10)]
        self.ranks = {pair: rank for rank, pair in enumerate(chance.sample(pairs, len(pairs)))}
        known = letters + ["".join(pair) for pair in self.ranks]
        self.ids = {piece: number for number, piece in enumerate(dict.fromkeys(known), 1)}
        self.pieces = functools.lru_cache(maxsize=2_000)(self.merge)

    def merge(self, word):
        pieces = list(word)
        while len(pieces) > 1:
            ranked = [(self.ranks.get(pair, 1e9), place) for place, pair in enumerate(zip(pieces, pieces[1:]))]
            rank, place = min(ranked)
            if rank == 1e9:
                break
            pieces[place:place + 2] = ["".join(pieces[place:place + 2])]
        return tuple(pieces)

    def encode(self, text):
        return [self.ids[piece] for word in text.split() for piece in self.pieces(word)]


class Listener(nn.Module):
    def __init__(self, pieces):
        super().__init__()
        self.pieces = nn.Embedding(pieces, WIDTH, padding_idx=0)
        self.rnn = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.next = nn.Linear(WIDTH, pieces)

    def forward(self, tokens):
        logits = self.next(self.rnn(self.pieces(tokens[:, :-1]))[0])
        losses = F.cross_entropy(logits.transpose(1, 2), tokens[:, 1:], ignore_index=0, reduction="none")
        return losses.sum(1) / (tokens[:, 1:] > 0).sum(1)


def report():
    """A beacon says who it is, signs its message, and says a few words between."""
    name, signature = ("".join(random.choices(HEX, k=size)) for size in (32, 64))
    return " ".join([name, *random.choices(WORDS, k=random.randint(3, 9)), signature])


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokeniser = Tokeniser()
    model, heard = Listener(len(tokeniser.ids) + 1).to(device).eval(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        tokens = torch.zeros(REPORTS, LONGEST, dtype=torch.long)
        for row in range(REPORTS):
            encoded = tokeniser.encode(report())[:LONGEST]
            tokens[row, :len(encoded)] = torch.tensor(encoded)
        with torch.inference_mode():
            surprise = model(tokens.to(device))
        heard += REPORTS
        if heard % (REPORTS * 20) == 0:
            print(f"{heard} reports, surprise {surprise.mean():.2f}, at most {surprise.max():.2f}", flush=True)
        time.sleep(0.02)


if __name__ == "__main__":
    main()
