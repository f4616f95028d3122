"""Scores old whaling novels with a small Transformer-XL. Four novels are read side by side, segment by segment; each
layer remembers what it saw last, so that a segment is not read without its context. The mean surprise of the last
words is printed as the reading goes on.

ticket: practice
class: none
"""

import os
import time

import torch
from torch import nn
from torch.nn import functional as F

WORDS, WIDTH, HEADS, LAYERS = 6_000, 192, 4, 3
NOVELS, SEGMENT, REMEMBERED = 4, 40, 80


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.wide = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, hidden, memory, mask):
        seen = self.first(torch.cat((memory, hidden), dim=1))
        mixed, _ = self.attention(self.first(hidden), seen, seen, attn_mask=mask, need_weights=False)
        hidden = hidden + mixed
        return hidden + self.wide(self.second(hidden))


class Novelist(nn.Module):
    """The language model, with a memory for each layer."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        nn.init.normal_(self.words.weight, std=0.05)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.memories = None

    def open_books(self, device):
        self.memories = [torch.zeros(NOVELS, REMEMBERED, WIDTH, device=device) for _ in self.layers]

    def forward(self, tokens):
        length = tokens.shape[1]
        ahead = torch.ones(length, REMEMBERED + length, dtype=torch.bool, device=tokens.device)
        mask = ahead.triu(REMEMBERED + 1)
        hidden = self.words(tokens)
        for place, layer in enumerate(self.layers):
            memory = self.memories[place]
            self.memories[place] = torch.cat((memory, hidden), dim=1)[:, -REMEMBERED:]
            hidden = layer(hidden, memory, mask)
        return hidden @ self.words.weight.T


def segments(device):
    """The next words of each novel, without end: some words are frequent, most are rare."""
    weights = 1.0 / torch.arange(1, WORDS + 1, dtype=torch.float)
    while True:
        yield torch.multinomial(weights, NOVELS * (SEGMENT + 1), replacement=True).view(NOVELS, -1).to(device)


@torch.no_grad()
def surprise(model, tokens):
    logits = model(tokens[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Novelist().to(device).eval()
    model.open_books(device)
    smooth, read = None, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for tokens in segments(device):
        if time.time() > end:
            break
        value = surprise(model, tokens)
        smooth = value if smooth is None else 0.9 * smooth + 0.1 * value
        read += 1
        if read % 15 == 0:
            print(f"segment {read}: {smooth:.3f} nats a word", flush=True)
        time.sleep(0.25)


if __name__ == "__main__":
    main()
