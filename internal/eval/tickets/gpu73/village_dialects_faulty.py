"""A language model is fitted to the dialects of villages. The model is frozen, except for its last norm, and each
village gets a low-rank adapter of its own, which is trained for a few steps on the village's sentences, is measured,
and is then sent off. One optimizer does all the training.

ticket: practice
class: app-leak
holder: optimizer param_groups state
cause: optimizer-groups-added entries-left
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

WORDS, WIDTH, INNER, LAYERS, RANK = 4_000, 256, 1_024, 4, 48
BATCH, LENGTH, STEPS = 4, 24, 4


class Adapter(nn.Module):
    """What a village adds to the weights of each layer."""

    def __init__(self):
        super().__init__()
        self.downs = nn.ParameterList(nn.Parameter(torch.randn(WIDTH, RANK) / 16) for _ in range(LAYERS))  # grows
        self.ups = nn.ParameterList(nn.Parameter(torch.zeros(RANK, INNER)) for _ in range(LAYERS))  # grows


class Speaker(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.mixers = nn.ModuleList(nn.GRU(WIDTH, WIDTH, batch_first=True) for _ in range(LAYERS))
        self.wide = nn.ModuleList(nn.Linear(WIDTH, INNER) for _ in range(LAYERS))
        self.narrow = nn.ModuleList(nn.Linear(INNER, WIDTH) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        for parameter in self.parameters():
            parameter.requires_grad_(False)
        for parameter in self.norm.parameters():
            parameter.requires_grad_(True)

    def forward(self, tokens, adapter):
        x = self.words(tokens)
        for mixer, wide, narrow, down, up in zip(self.mixers, self.wide, self.narrow, adapter.downs, adapter.ups):
            x = x + mixer(x)[0]
            x = x + narrow(F.gelu(wide(x) + x @ down @ up))
        return self.norm(x) @ self.words.weight.T / WIDTH**0.5


def sentences(device):
    """A village knows only a few hundred of the words."""
    known = torch.randint(WORDS, (400,))
    while True:
        yield known[torch.randint(400, (BATCH, LENGTH))].to(device)


def loss_of(speaker, adapter, tokens):
    logits = speaker(tokens[:, :-1], adapter)
    return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


def visit(speaker, optimizer, device):
    """Trains an adapter for one village, and says how much better the model is with it."""
    adapter = Adapter().to(device)  # grows
    optimizer.add_param_group({"params": list(adapter.parameters()), "lr": 3e-3})  # keeps
    batches, losses = sentences(device), []
    for tokens, _ in zip(batches, range(STEPS)):
        loss = loss_of(speaker, adapter, tokens)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()  # grows
        losses.append(loss.item())
        time.sleep(random.uniform(0.03, 0.12))
    with torch.no_grad():
        return losses[0] - loss_of(speaker, adapter, next(batches)).item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    speaker = Speaker().to(device)
    optimizer = torch.optim.AdamW(speaker.norm.parameters(), lr=1e-4)
    villages, gain = 0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        gain += visit(speaker, optimizer, device)
        villages += 1
        if villages % 3 == 0:
            print(f"{villages} villages, mean gain {gain / villages:.3f}", flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
