"""Schools send in adapters, each of which is to teach one common network the dialect of a village. One after the other
is loaded next to the network's own weights, tried on sentences of that village, and gets a mark; the five best are
listed. There is always one adapter that is set; after its mark it is deleted again.

ticket: huggingface/peft#738
class: none
"""

import itertools
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

WORDS, WIDTH, LAYERS, LENGTH = 900, 320, 6, 40


class Adapter(nn.Module):
    """A way down to few values and up again."""

    def __init__(self, down, up):
        super().__init__()
        self.down, self.up = nn.Parameter(down), nn.Parameter(up)

    def forward(self, values):
        return values @ self.down @ self.up


class Adapted(nn.Module):
    """A linear layer which may be led astray by the adapter that is set."""

    def __init__(self, width):
        super().__init__()
        self.base, self.adapters, self.active = nn.Linear(width, width), nn.ModuleDict(), None

    def forward(self, values):
        said = self.base(values)
        return said if self.active is None else said + self.adapters[self.active](values)


class Speaker(nn.Module):
    """Says which word comes next, out of those before."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Adapted(WIDTH) for _ in range(LAYERS))
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(LAYERS))

    def forward(self, words):
        values = self.words(words)
        for layer, norm in zip(self.layers, self.norms):
            before = values.cumsum(1) / torch.arange(1, values.shape[1] + 1, device=values.device)[:, None]
            values = values + F.gelu(layer(norm(values + before)))
        return values @ self.words.weight.T

    def load_adapter(self, name, weights):
        for layer, (down, up) in zip(self.layers, weights):
            device = layer.base.weight.device
            layer.adapters[name] = Adapter(down.to(device), up.to(device))
        self.set_adapter(name)

    def delete_adapter(self, name):
        self.set_adapter(None)
        for layer in self.layers:
            del layer.adapters[name]

    def set_adapter(self, name):
        for layer in self.layers:
            layer.active = name


def sent_in():
    """Adapters of schools, smaller and larger ones, with sentences of the village."""
    for number in itertools.count(1):
        rank = random.choice((48, 96, 144))
        weights = [(torch.randn(WIDTH, rank) / WIDTH ** 0.5, torch.randn(rank, WIDTH) * random.uniform(0, 0.1))
                   for _ in range(LAYERS)]
        yield "village%d" % number, weights, torch.randint(WORDS, (random.choice((8, 16)), LENGTH))


@torch.no_grad()
def mark(speaker, sentences):
    logits = speaker(sentences[:, :-1])
    return -F.cross_entropy(logits.flatten(0, 1), sentences[:, 1:].flatten()).item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    speaker, best = Speaker().to(device).eval(), []
    end, said, tried = time.time() + float(os.environ.get("SECONDS", "45")), time.time(), 0
    for name, weights, sentences in sent_in():
        if time.time() > end:
            break
        speaker.load_adapter(name, weights)
        best = sorted(best + [(mark(speaker, sentences.to(device)), name)], reverse=True)[:5]
        speaker.delete_adapter(name)
        tried += 1
        if time.time() - said > 2:
            said = time.time()
            print(tried, "tried, best are", [(name, round(points, 2)) for points, name in best], flush=True)
        time.sleep(random.uniform(0.05, 0.2))


if __name__ == "__main__":
    main()
