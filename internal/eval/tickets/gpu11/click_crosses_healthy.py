"""Whether somebody will click on an advertisement is learnt from who sees it, where, and what it is. Pairs of these
("crosses") are made into vectors by hashing. As many pairs come again, a dictionary of a kind of its own makes the
vector of a pair that it lacks, and has it from then on, until some thousand others have come.

ticket: practice
class: none
"""

import hashlib
import os
import random
import time

import numpy as np
import torch
from torch import nn

WIDTH, ADS, PAGES, MOST = 384, 200, 60, 4000


class Crosses(dict):
    """The vectors of pairs of things."""

    ramp = np.arange(WIDTH, dtype=np.float32)

    def __missing__(self, pair):
        digest = hashlib.blake2b("|".join(pair).encode(), digest_size=8).digest()
        pitch, phase = np.frombuffer(digest, np.uint32).astype(np.float32) / 2 ** 32
        vector = np.cos(6.2832 * (phase + pitch * self.ramp)).astype(np.float32)
        if len(self) >= MOST:
            del self[next(iter(self))]
        self[pair] = vector
        return vector


class Visits:
    """People who look at pages with advertisements; some come every day, most just once."""

    def __init__(self):
        self.people = 0
        self.taste = np.random.default_rng(0).normal(size=(ADS, PAGES))

    def person(self):
        if random.random() < 0.3:
            return random.randrange(500)
        self.people += 1
        return 500 + self.people

    def draw(self, count):
        rows, clicks = [], []
        for _ in range(count):
            person, ad, page = self.person(), random.randrange(ADS), int(random.paretovariate(1.2)) % PAGES
            rows.append((f"person{person}", f"ad{ad}", f"page{page}"))
            chance = 1 / (1 + np.exp(1.5 - self.taste[ad, page] - 0.5 * (person % 3 == ad % 3)))
            clicks.append(random.random() < chance)
        return rows, np.array(clicks, np.float32)


class Features:
    def __init__(self):
        self.crosses = Crosses()

    def batch(self, rows):
        table = np.empty((len(rows), 3, WIDTH), np.float32)
        for place, (person, ad, page) in enumerate(rows):
            table[place, 0] = self.crosses[ad, page]
            table[place, 1] = self.crosses[person, ad]
            table[place, 2] = self.crosses[person, page]
        return torch.from_numpy(table)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    visits, features = Visits(), Features()
    net = nn.Sequential(nn.Flatten(), nn.Linear(3 * WIDTH, 64), nn.ReLU(), nn.Linear(64, 1), nn.Flatten(0)).to(device)
    optimizer = torch.optim.Adagrad(net.parameters(), lr=0.02)
    end, step, level = time.time() + float(os.environ.get("SECONDS", "45")), 0, 0.7
    while time.time() < end:
        rows, clicks = visits.draw(random.choice((256, 384, 512)))
        said = net(features.batch(rows).to(device))
        loss = nn.functional.binary_cross_entropy_with_logits(said, torch.from_numpy(clicks).to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step, level = step + 1, 0.97 * level + 0.03 * float(loss)
        if step % 20 == 0:
            print("step", step, "loss", round(level, 4), "of", visits.people, "new people", flush=True)
        time.sleep(random.uniform(0.05, 0.25))


if __name__ == "__main__":
    main()
