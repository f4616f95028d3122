"""A serving loop gets new weights now and then and requests of any length. The model is traced once for each of some
padded lengths, and the traces are run again and again.

ticket: pytorch/pytorch#35600
class: none
"""

import os
import random
import time

import torch
from torch import nn

LENGTHS = (64, 128, 192, 256)


class Tagger(nn.Module):
    def __init__(self, layers=14, width=48):
        super().__init__()
        self.words = nn.Embedding(3000, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))
            for _ in range(layers))
        self.tags = nn.Linear(width, 20)

    def forward(self, tokens):
        x = self.words(tokens)
        for block in self.blocks:
            x = x + block(x)
        return self.tags(x).argmax(2)


class Engine:
    def __init__(self, device):
        self.device, self.model, self.versions = device, Tagger().to(device).eval(), 0
        self.traces = {}

    def refresh(self):
        """Takes over new weights, in place."""
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter.mul_(0.999)
        self.versions += 1

    def compiled(self, tokens):
        length = tokens.shape[1]
        if length not in self.traces:
            self.traces[length] = torch.jit.trace(self.model, tokens, check_trace=False)
        return self.traces[length]

    @torch.no_grad()
    def tag(self, text):
        tokens = torch.tensor([text], device=self.device)
        padded = next(n for n in LENGTHS if n >= len(text))
        tokens = nn.functional.pad(tokens, (0, padded - len(text)))
        tags = self.compiled(tokens)(tokens)[0, :len(text)]
        return tags.tolist()


def texts(end):
    while time.time() < end:
        yield [random.randrange(3000) for _ in range(random.randint(12, LENGTHS[-1]))]
        time.sleep(random.uniform(0.2, 0.6))


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    engine, done = Engine("cuda" if torch.cuda.is_available() else "cpu"), 0
    for text in texts(end):
        engine.tag(text)
        done += 1
        if done % 20 == 0:
            engine.refresh()
            print("requests", done, "weights", engine.versions, flush=True)


if __name__ == "__main__":
    main()
