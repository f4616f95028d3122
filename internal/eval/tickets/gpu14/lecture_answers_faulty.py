"""Students ask about recorded lectures. What the network makes of a lecture is kept in pieces: those of the last few
lectures on the device, and of more of them in a store on the host, from where they are loaded instead of being worked
out again. A piece that has been found in the store must not be thrown out until it is loaded, so finding pins it.

ticket: LMCache/LMCache#1034
class: host-growth
holder: hot_cache
cause: cache-without-bound pinned-kept
"""

import collections
import os
import random
import time
from dataclasses import dataclass

import torch
from torch import nn

PIECE, WIDTH, PIECES, ROOM, ON_DEVICE = 128, 256, (4, 6, 8), 72, 4


@dataclass
class Piece:
    values: torch.Tensor
    pins: int = 0


class Store:
    """Pieces of lectures on the host; there is room for some that nobody has pinned, and then the oldest go."""

    def __init__(self, device):
        self.hot_cache, self.locked = collections.OrderedDict(), device == "cuda"

    def put(self, lecture, number, values):
        kept = torch.empty(values.shape, dtype=values.dtype, pin_memory=self.locked)  # grows
        self.hot_cache[lecture, number] = Piece(kept.copy_(values))  # keeps
        free = [key for key, piece in self.hot_cache.items() if not piece.pins]
        for key in free[:max(len(free) - ROOM, 0)]:
            del self.hot_cache[key]

    def lookup(self, lecture, count):
        """How many pieces from the lecture's beginning are there; they stay until they are retrieved."""
        found = 0
        while found < count and (lecture, found) in self.hot_cache:
            self.hot_cache[lecture, found].pins += 1
            found += 1
        return found

    def retrieve(self, lecture, first, last):
        for number in range(last):
            piece = self.hot_cache[lecture, number]
            piece.pins -= 1
            if number >= first:
                yield piece.values


class Tutor:
    def __init__(self, device):
        self.device, self.store, self.near = device, Store(device), collections.OrderedDict()
        self.words, self.says = nn.Embedding(500, WIDTH).to(device), nn.Linear(WIDTH, 40).to(device)
        self.turn = nn.Linear(WIDTH, WIDTH).to(device)
        self.loaded = self.worked_out = 0

    @torch.inference_mode()
    def ask(self, lecture, text, question):
        count = len(text)
        near, found = self.near.pop(lecture, []), self.store.lookup(lecture, count)
        if found > len(near):
            for values in self.store.retrieve(lecture, len(near), found):
                near.append(values.to(self.device, non_blocking=True))
                self.loaded += 1
        for number in range(len(near), count):
            near.append(torch.tanh(self.turn(self.words(text[number].to(self.device)))))
            self.store.put(lecture, number, near[-1])
            self.worked_out += 1
        self.near[lecture] = near
        while len(self.near) > ON_DEVICE:
            self.near.popitem(last=False)
        values, asked = torch.cat(near), self.words(question.to(self.device)).mean(0)
        return int(self.says(torch.softmax(values @ asked, 0) @ values).argmax())


def main():
    torch.set_num_threads(1)
    tutor, texts, held = Tutor("cuda" if torch.cuda.is_available() else "cpu"), collections.OrderedDict(), 0
    end, said = time.time() + float(os.environ.get("SECONDS", "45")), time.time()
    while time.time() < end:
        if not texts or random.random() < 0.3:
            held += 1
            texts[held] = torch.randint(500, (random.choice(PIECES), PIECE))
            if len(texts) > 12:
                texts.popitem(last=False)
        lecture = random.choice(list(texts)[-3:] if random.random() < 0.8 else list(texts))
        tutor.ask(lecture, texts[lecture], torch.randint(500, (12,)))
        if time.time() - said > 2:
            said = time.time()
            print(held, "lectures:", tutor.worked_out, "pieces worked out,", tutor.loaded, "loaded", flush=True)
        time.sleep(random.uniform(0.01, 0.06))


if __name__ == "__main__":
    main()
