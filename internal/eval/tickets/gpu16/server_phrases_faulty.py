"""The logs of a row of servers are read as they are written, and lines that are unlike all others are pointed out. It
is counted how often any three words have come one after the other; a small network learns what follows what, and a line
is odd if its phrases are rare and the network would not have thought of it.

ticket: practice
class: host-growth
holder: counts phrases
cause: cache-without-bound buffer-without-bound
"""

import collections
import os
import random
import time
import zlib

import torch
from torch import nn

PLACES, WIDTH, LINES = 1024, 64, (1000, 2000, 3000)
KINDS = ["session {hex} opened for user {name} from {address} port {number}",
         "request {hex} for item {number} took {number} ms and sent {number} bytes",
         "worker {number} took job {hex} from queue {name} after {number} ms",
         "cache miss for key {name} part {hex} on shard {small} loaded {number} rows",
         "connection from {address} reset by peer after {number} bytes",
         "volume {name} has {number} blocks free of {number}",
         "certificate of {name} checked against serial {hex} in {number} us"]
ODD = "kernel panic on cpu {small} at address {hex} in task {name}"
NAMES = ["amber", "birch", "cedar", "dune", "ember", "fjord", "grove", "heath"]
FIELDS = {"{hex}": lambda: f"{random.getrandbits(48):012x}",
          "{name}": lambda: random.choice(NAMES),
          "{small}": lambda: str(random.randrange(16)),
          "{number}": lambda: str(random.randrange(1_000_000)),
          "{address}": lambda: "10.%d.%d.%d" % tuple(random.getrandbits(24).to_bytes(3, "big"))}


class Fleet:
    """Servers that write lines."""

    def line(self):
        kind = ODD if random.random() < 0.0005 else random.choice(KINDS)
        return " ".join(FIELDS[word]() if word in FIELDS else word for word in kind.split())

    def lines(self, count):
        return [self.line() for _ in range(count)]


class Phrases:
    """How often three words came in a row."""

    def __init__(self):
        self.counts = collections.Counter()

    def read(self, line):
        """Counts the phrases of a line, and says how rare they are."""
        words = line.lower().split()  # grows
        phrases = list(zip(words, words[1:], words[2:]))  # grows
        for phrase in phrases:
            self.counts[phrase] += 1  # grows keeps
        return sum(1 / self.counts[phrase] for phrase in phrases) / len(phrases), words


class Follow(nn.Module):
    """Guesses in which bin the next word falls."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(PLACES, WIDTH)
        self.mix = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.next = nn.Linear(WIDTH, PLACES)

    def forward(self, places):
        found = self.next(self.mix(self.words(places[:, :-1]))[0])
        return nn.functional.cross_entropy(found.transpose(1, 2), places[:, 1:], reduction="none").mean(1)


def bins(words, length=8):
    places = [zlib.crc32(word.encode()) % PLACES for word in words[:length]]
    return places + [0] * (length - len(places))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    fleet, phrases, model = Fleet(), Phrases(), Follow().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    end, lines, said = time.time() + float(os.environ.get("SECONDS", "45")), 0, time.time()
    while time.time() < end:
        read = [phrases.read(line) for line in fleet.lines(random.choice(LINES))]
        lines += len(read)
        rare = torch.tensor([rarity for rarity, _ in read[-64:]], device=device)
        losses = model(torch.tensor([bins(words) for _, words in read[-64:]], device=device))
        optimizer.zero_grad()
        losses.mean().backward()
        optimizer.step()
        if time.time() - said > 2:
            said = time.time()
            oddest = read[-64:][int((losses.detach() * rare).argmax())][1]
            print(lines, "lines, loss", round(float(losses.mean()), 3), "oddest:", *oddest, flush=True)
        time.sleep(random.uniform(0.05, 0.2))


if __name__ == "__main__":
    main()
