"""Bakeries have an assistant that answers in the dialect of their town. One base model serves all of them; the dialect
is an adapter of low rank, which forward hooks add to the projections. When the next town's requests come up, its
adapter is put on in the place of the last one.

ticket: practice
class: app-leak
holder: _forward_hooks hook Adapter down up
cause: hooks-left closure-kept
"""

import os
import random
import time

import torch
from torch import nn

WORDS, WIDTH, LAYERS, RANK, LENGTH = 8_000, 768, 4, 64, 24
TOWNS = "Trier", "Husum", "Passau", "Zwickau", "Aachen"


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.inner = nn.Linear(WIDTH, WIDTH)
        self.outer = nn.Linear(WIDTH, WIDTH)

    def forward(self, hidden):
        return hidden + self.outer(torch.relu(self.inner(self.norm(hidden.cumsum(dim=1)))))


class Assistant(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))

    def forward(self, tokens):
        hidden = self.words(tokens)
        for block in self.blocks:
            hidden = block(hidden)
        return hidden[:, -1] @ self.words.weight.T


class Adapter:
    """The weights of one dialect for all projections of the model."""

    def __init__(self, town, names, device):
        generator = torch.Generator().manual_seed(sum(map(ord, town)))

        def part(*shape):
            return torch.randn(shape, generator=generator).div(WIDTH).to(device)  # grows

        self.down = {name: part(WIDTH, RANK) for name in names}
        self.up = {name: part(RANK, WIDTH) for name in names}

    def hook(self, name):
        down, up = self.down[name], self.up[name]
        return lambda module, inputs, output: output + inputs[0] @ down @ up


class Server:
    def __init__(self, model, device):
        self.model, self.device = model, device
        self.projections = {name: module for name, module in model.named_modules() if isinstance(module, nn.Linear)}
        self.handles = []

    def put_on(self, town):
        adapter = Adapter(town, self.projections, self.device)
        self.handles = [
            module.register_forward_hook(adapter.hook(name))  # keeps
            for name, module in self.projections.items()
        ]

    @torch.inference_mode()
    def answer(self, tokens, words=6):
        for _ in range(words):
            following = self.model(tokens).argmax(dim=-1, keepdim=True)
            tokens = torch.cat((tokens, following), dim=1)
        return tokens[:, -words:]


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    server = Server(Assistant().to(device).eval(), device)
    switches = answers = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        town = random.choice(TOWNS)
        server.put_on(town)
        switches += 1
        for _ in range(random.randrange(1, 4)):
            server.answer(torch.randint(WORDS, (4, LENGTH), device=device))
            answers += 1
            time.sleep(random.uniform(0.02, 0.15))
        if switches % 10 == 0:
            print(f"{answers} answers, {switches} switches, now {town}", flush=True)


if __name__ == "__main__":
    main()
