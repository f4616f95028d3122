"""Translators of a port send in corrections, each in a dialect of their own. A frozen model gets a fresh low-rank
adapter for each batch of corrections, which takes the place of the translator's older one. The last norm is shared by
all the translators and is trained along with every adapter.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

WORDS, WIDTH, LAYERS, RANK = 5_000, 512, 4, 32
TRANSLATORS = "north pier", "old docks", "fish market", "customs", "lighthouse", "shipyard"


class LowRank(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Parameter(torch.randn(LAYERS, WIDTH, RANK) / WIDTH ** 0.5)
        self.up = nn.Parameter(torch.zeros(LAYERS, RANK, WIDTH))

    def forward(self, layer, x):
        return x @ self.down[layer] @ self.up[layer]


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.mix = nn.ModuleList(nn.Linear(2 * WIDTH, WIDTH) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.words.requires_grad_(False)
        self.mix.requires_grad_(False)

    def forward(self, tokens, adapter):
        x = self.words(tokens)
        for layer, mix in enumerate(self.mix):
            before = F.pad(x, (0, 0, 2 ** layer, 0))[:, :x.shape[1]]
            x = x + torch.tanh(mix(torch.cat([x, before], dim=-1)) + adapter(layer, x))
        return self.norm(x) @ self.words.weight.T


class Office:
    def __init__(self, device):
        self.device = device
        self.model = Translator().to(device)
        self.adapters = {}
        self.optimizer = torch.optim.Adam(self.model.norm.parameters(), lr=1e-3)

    def learn(self, translator, corrections):
        adapter = LowRank().to(self.device)
        self.optimizer.add_param_group({"params": list(adapter.parameters()), "lr": 1e-2})
        for tokens in corrections:
            tokens = tokens.to(self.device)
            logits = self.model(tokens[:, :-1], adapter)
            loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        for parameter in self.optimizer.param_groups.pop()["params"]:
            del self.optimizer.state[parameter]
        self.adapters[translator] = adapter
        return loss.item()


def mail():
    """What a translator sends: a few batches of sentences."""
    length = random.choice((8, 12, 16, 24))
    return [torch.randint(WORDS, (4, length)) for _ in range(random.randint(3, 6))]


def main():
    torch.set_num_threads(1)
    office = Office("cuda" if torch.cuda.is_available() else "cpu")
    lessons = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        translator = random.choice(TRANSLATORS)
        loss = office.learn(translator, mail())
        lessons += 1
        if lessons % 10 == 0:
            print(f"{lessons} lessons, {len(office.adapters)} adapters, last {translator}: {loss:.2f}", flush=True)
        time.sleep(random.expovariate(4))


if __name__ == "__main__":
    main()
