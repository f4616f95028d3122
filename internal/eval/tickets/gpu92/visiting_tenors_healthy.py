"""Guest tenors of a cathedral choir.

The choir's sound model tells the spectrum of the next frame from the score. A trunk is
shared by everybody, and each guest of the season brings a tint of his own: a matrix that
bends the trunk's output towards his voice. Guests stand in the stalls for a handful of
anthems and travel on; the next one takes the free place. Trunk and tints are trained
together during the rehearsals.

ticket: practice
class: none
"""
import itertools
import os
import time

import torch
import torch.nn.functional as F
from torch import nn

NOTES = 128
WIDTH = 1024
BINS = 1024
PLACES = 3
ANTHEM = 1.5
PACE = 1 / 8
BATCH = 24


class Trunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(NOTES, WIDTH)
        self.mix = nn.Linear(WIDTH, WIDTH)

    def forward(self, notes):
        return torch.tanh(self.mix(F.gelu(self.score(notes))))


class Guest(nn.Module):
    def __init__(self, number):
        super().__init__()
        self.number = number
        self.tint = nn.Parameter(torch.randn(WIDTH, BINS) * 0.02)

    def forward(self, common):
        return common @ self.tint


def synthetic_score(device):
    """A batch of chords: some notes sound, the rest are silent."""
    return (torch.rand(BATCH, NOTES, device=device) < 0.06).float()


def synthetic_voice(notes, number):
    """Partials of the sounding notes, a little brighter or darker for each guest."""
    ladder = torch.arange(BINS, device=notes.device)
    pitch = torch.arange(1, NOTES + 1, device=notes.device).unsqueeze(1)
    bright = 0.4 + 0.1 * (number % 5)
    comb = torch.cos(ladder / pitch * 6.283) * torch.exp(-bright * ladder / BINS)
    return notes @ comb / NOTES ** 0.5


class Stalls:
    def __init__(self, device):
        self.device = device
        self.trunk = Trunk().to(device)
        self.adam = torch.optim.Adam(self.trunk.parameters(), lr=3e-4)
        self.standing = []
        self.numbers = itertools.count(1)

    def welcome(self):
        guest = Guest(next(self.numbers)).to(self.device)
        self.adam.add_param_group({"params": list(guest.parameters()), "lr": 1e-3})
        self.standing.append(guest)

    def farewell(self):
        guest = self.standing.pop(0)
        own = {id(p) for p in guest.parameters()}
        groups = self.adam.param_groups
        groups[:] = [g for g in groups if not any(id(p) in own for p in g["params"])]
        for p in guest.parameters():
            self.adam.state.pop(p, None)
        return guest.number

    def change_places(self):
        left = self.farewell() if len(self.standing) == PLACES else None
        self.welcome()
        return left

    def rehearse(self):
        notes = synthetic_score(self.device)
        common = self.trunk(notes)
        losses = []
        for guest in self.standing:
            losses.append(F.mse_loss(guest(common), synthetic_voice(notes, guest.number)))
        loss = torch.stack(losses).mean()
        self.adam.zero_grad(set_to_none=True)
        loss.backward()
        self.adam.step()
        return loss.item()


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(3)
    stalls = Stalls("cuda" if torch.cuda.is_available() else "cpu")
    next_anthem = time.time()
    anthems = 0
    loss = None
    while time.time() < end:
        began = time.time()
        if began >= next_anthem:
            left = stalls.change_places()
            anthems += 1
            next_anthem += ANTHEM
            if anthems % 2 == 0 and loss is not None:
                away = "nobody" if left is None else f"guest {left}"
                names = ", ".join(str(guest.number) for guest in stalls.standing)
                print(f"anthem {anthems}: in the stalls {names}; {away} left; error {loss:.4f}", flush=True)
        loss = stalls.rehearse()
        time.sleep(max(0.0, PACE - (time.time() - began)))


if __name__ == "__main__":
    main()
