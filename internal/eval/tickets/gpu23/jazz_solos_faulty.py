"""Improvises solos over a bass line, several at once, note by note. The network is a small transformer; what its layers
computed for the notes so far (keys and values) is kept, so that each new note costs one step only. One solo is played
after the other, each from its own first note.

ticket: practice
class: app-leak
holder: keys values attention layers Attention
cause: cache-without-bound buffer-without-bound results-kept
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

NOTES, WIDTH, HEADS, LAYERS, PLAYERS = 96, 256, 4, 3, 32
LENGTHS = (16, 24, 32)


class Attention(nn.Module):
    """Attention to the notes so far, which it remembers."""

    def __init__(self):
        super().__init__()
        self.project, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.keys = self.values = None

    def forward(self, hidden):
        parts = self.project(hidden).view(len(hidden), 1, 3, HEADS, WIDTH // HEADS)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        if self.keys is None:
            self.keys, self.values = key, value
        else:
            self.keys = torch.cat([self.keys, key], dim=2)  # grows keeps
            self.values = torch.cat([self.values, value], dim=2)  # grows keeps
        seen = F.scaled_dot_product_attention(query, self.keys, self.values)
        return self.out(seen.transpose(1, 2).reshape(len(hidden), 1, WIDTH))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.wide = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, hidden):
        hidden = hidden + self.attention(self.first(hidden))
        return hidden + self.wide(self.second(hidden))


class Soloist(nn.Module):
    def __init__(self):
        super().__init__()
        self.notes = nn.Embedding(NOTES, WIDTH)
        self.places = nn.Embedding(max(LENGTHS), WIDTH)
        self.layers = nn.ModuleList(Block() for _ in range(LAYERS))
        self.out = nn.Linear(WIDTH, NOTES)

    def forward(self, notes, place):
        """The next note's logits, after the notes of one place."""
        hidden = self.notes(notes)[:, None] + self.places.weight[place]
        for layer in self.layers:
            hidden = layer(hidden)
        return self.out(hidden[:, 0])

    @torch.no_grad()
    def improvise(self, first, length, warmth=0.9):
        notes = [first]
        for place in range(length - 1):
            chances = torch.softmax(self(notes[-1], place) / warmth, dim=-1)
            notes.append(torch.multinomial(chances, 1)[:, 0])
            time.sleep(random.uniform(0.02, 0.05))
        return torch.stack(notes, dim=1).cpu()


def leaps(solos):
    """How far a note is from the one before, in semitones."""
    return (solos[:, 1:] - solos[:, :-1]).abs().float().mean().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    soloist, played = Soloist().to(device).eval(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        first = torch.randint(NOTES, (PLAYERS,), device=device)
        solos = soloist.improvise(first, random.choice(LENGTHS))
        played += len(solos)
        print("solos", played, "notes", solos.shape[1], "leaps", round(leaps(solos), 2), flush=True)


if __name__ == "__main__":
    main()
