"""Writes the bulletins of a canal authority: which locks work, how long boats wait, what the keepers advise.

A small decoder, written out by hand, continues the code of a lock and of the day token by token, with a cache of keys
and values for each layer. Bulletins have varying lengths. A desk issues them and publishes, every two seconds, how
sure the writer was of its words.

ticket: practice
class: none
"""
import os
import random
import time
from dataclasses import dataclass

import torch
from torch import nn

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
WORDS = 1600
WIDTH = 192
HEADS = 4
LAYERS = 3
COPIES = 4
PERIOD = 0.3


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.project = nn.Linear(WIDTH, 3 * WIDTH)
        self.merge = nn.Linear(WIDTH, WIDTH)
        widen, narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.feed = nn.Sequential(nn.LayerNorm(WIDTH), widen, nn.GELU(), narrow)

    def forward(self, x, past):
        batch = x.shape[0]
        query, key, value = self.project(self.norm(x)).view(batch, 3, HEADS, 1, WIDTH // HEADS).unbind(1)
        if past is not None:
            key = torch.cat((past[0], key), dim=2)
            value = torch.cat((past[1], value), dim=2)
        attention = torch.softmax(query @ key.transpose(2, 3) / (WIDTH // HEADS) ** 0.5, dim=-1)
        x = x + self.merge((attention @ value).reshape(batch, WIDTH))
        return x + self.feed(x), (key, value)


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, token, cache):
        x = self.words(token)
        for number, layer in enumerate(self.layers):
            x, cache[number] = layer(x, cache[number])
        return torch.log_softmax(self.head(x), dim=-1)

    @torch.no_grad()
    def write(self, start, length):
        """Returns the tokens and, for each of them, the scores of all words."""
        cache = [None] * LAYERS
        token = torch.full((COPIES,), start, device=DEVICE)
        tokens, steps = [], []
        for _ in range(length):
            scores = self(token, cache)
            token = torch.multinomial(scores.exp(), 1).squeeze(1)
            tokens.append(token)
            steps.append(scores)
        return torch.stack(tokens, dim=1), torch.stack(steps, dim=1)


@dataclass
class Bulletin:
    lock: int
    text: list
    sureness: torch.Tensor


class Desk:
    """Issues the bulletins and reports on them."""

    def __init__(self, writer, rng):
        self.writer = writer
        self.rng = rng
        self.issued = []
        self.reported = 0

    def issue(self, lock):
        tokens, scores = self.writer.write(lock, self.rng.randint(20, 90))
        best = scores.max(dim=2, keepdim=True).values
        self.issued.append(Bulletin(lock, tokens[0].tolist(), scores - best))

    def publish(self):
        fresh, self.issued = self.issued, []
        self.reported += len(fresh)
        words = sum(len(bulletin.text) for bulletin in fresh)
        spread = sum(float(bulletin.sureness.mean()) for bulletin in fresh) / max(1, len(fresh))
        return words, spread


def main():
    torch.manual_seed(23)
    rng = random.Random(23)
    desk = Desk(Writer().to(DEVICE).eval(), rng)
    start = time.monotonic()
    next_report = start + 2.0
    while time.monotonic() - start < SECONDS:
        began = time.monotonic()
        desk.issue(rng.randrange(48))
        if time.monotonic() >= next_report:
            words, spread = desk.publish()
            print(f"{desk.reported} bulletins, {words} words in the last, spread {spread:.3f}", flush=True)
            next_report += 2.0
        time.sleep(max(0.02, PERIOD - (time.monotonic() - began)))
    desk.publish()
    print(f"desk closed with {desk.reported} bulletins", flush=True)


if __name__ == "__main__":
    main()
