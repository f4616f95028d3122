"""A small language model learns to write limericks that a jury likes. In each round it writes some, the jury, a frozen
model, votes for them, and the writer is moved towards the ones with more votes than usual. A penalty keeps it near
the model it started from. The entropy of its words is watched by a moving average.

ticket: practice
class: none
"""

import copy
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

WORDS, WIDTH, LENGTH, BATCH = 4_000, 192, 16, 12
KL_WEIGHT = 0.05


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.rnn = nn.GRU(WIDTH, WIDTH, batch_first=True)

    def forward(self, tokens, state=None):
        hidden, state = self.rnn(self.words(tokens), state)
        return hidden @ self.words.weight.T / WIDTH**0.5, state


class Jury(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.EmbeddingBag(WORDS, WIDTH)
        self.vote = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 1))

    def forward(self, tokens):
        return self.vote(self.words(tokens)).squeeze(-1)


class Average:
    """A moving average."""

    def __init__(self, decay=0.95):
        self.decay, self.value = decay, 0.0

    def update(self, value):
        self.value = self.decay * self.value + (1 - self.decay) * value


@torch.no_grad()
def write(writer, device):
    """Some limericks, each begun with a word of its own."""
    token, state = torch.randint(WORDS, (BATCH, 1), device=device), None
    tokens = [token]
    for _ in range(LENGTH):
        logits, state = writer(token, state)
        token = torch.multinomial(logits[:, -1].softmax(-1), 1)
        tokens.append(token)
    return torch.cat(tokens, dim=1)


def learn(writer, start, jury, optimizer, meters, device):
    tokens = write(writer, device)
    with torch.no_grad():
        votes = jury(tokens)
        before = F.log_softmax(start(tokens[:, :-1])[0], dim=-1).gather(-1, tokens[:, 1:, None]).squeeze(-1)
    log_probs = F.log_softmax(writer(tokens[:, :-1])[0], dim=-1)
    chosen = log_probs.gather(-1, tokens[:, 1:, None]).squeeze(-1)
    entropy = -(log_probs.exp() * log_probs).sum(-1).mean()
    meters["entropy"].update(entropy.item())
    meters["votes"].update(votes.mean().item())
    advantage = votes - meters["votes"].value
    reward = advantage[:, None] - KL_WEIGHT * (chosen.detach() - before)
    loss = -(reward * chosen).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(writer.parameters(), 1.0)
    optimizer.step()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    writer, jury = Writer().to(device), Jury().to(device).eval()
    start = copy.deepcopy(writer).eval()
    optimizer = torch.optim.Adam(writer.parameters(), lr=3e-4)
    meters, rounds = {"entropy": Average(), "votes": Average()}, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        learn(writer, start, jury, optimizer, meters, device)
        rounds += 1
        if rounds % 5 == 0:
            averages = ", ".join(f"{name} {meter.value:.3f}" for name, meter in meters.items())
            print(f"round {rounds}: {averages}", flush=True)
        time.sleep(random.uniform(0.1, 0.35))


if __name__ == "__main__":
    main()
