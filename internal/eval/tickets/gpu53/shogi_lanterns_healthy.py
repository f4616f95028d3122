"""Two networks play a lantern game on boards of three sizes, and the one that wins more is the champion. Matches take
what they need from memory pools set apart, so that the short ones do not cut up the memory of the others.

ticket: practice
class: none
"""

import contextlib
import os
import random
import time
from dataclasses import dataclass

import torch
from torch import nn

SIZES, GAMES, MOVES = (9, 11, 13), 64, 12
NAMES = "crane", "heron"


@dataclass(frozen=True)
class Match:
    size: int
    first: str
    second: str
    seed: int


class Player(nn.Module):
    """Gives each field of the board a worth."""

    def __init__(self, width=16):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(2, width, 3, padding=1), nn.ReLU(),
                                    nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, 1, 1))

    def forward(self, boards):
        return self.layers(boards).flatten(1)


class Hall:
    """Where the matches are played."""

    def __init__(self, players, device):
        self.players, self.device = players, device
        self.arenas = {}

    def arena(self, match):
        if self.device == "cpu":
            return contextlib.nullcontext()
        if match.size not in self.arenas:
            self.arenas[match.size] = torch.cuda.MemPool()
        return torch.cuda.use_mem_pool(self.arenas[match.size])

    def play(self, match):
        """The share of the games that the first player wins."""
        torch.manual_seed(match.seed)
        with self.arena(match):
            boards = torch.zeros(GAMES, 2, match.size, match.size, device=self.device)
            cells = torch.rand(GAMES, match.size ** 2, device=self.device)
            score = torch.zeros(GAMES, device=self.device)
            for move in range(MOVES):
                side = move % 2
                player = self.players[match.second if side else match.first]
                worths = player(boards.flip(1) if side else boards)
                taken = boards.sum(1).flatten(1) > 0
                chosen = worths.masked_fill(taken, -1e9).argmax(1, keepdim=True)
                boards[:, side].view(GAMES, -1).scatter_(1, chosen, 1.0)
                gain = cells.gather(1, chosen)[:, 0]
                score += -gain if side else gain
            return (score > 0).float().mean().item()


@torch.inference_mode()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    players = {name: Player().to(device).eval() for name in NAMES}
    for player in players.values():
        player(torch.zeros(1, 2, SIZES[0], SIZES[0], device=device))
    hall, won, played = Hall(players, device), dict.fromkeys(NAMES, 0.0), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        first, second = random.sample(NAMES, 2)
        match = Match(SIZES[played % len(SIZES)], first, second, random.getrandbits(32))
        share = hall.play(match)
        won[first] += share
        won[second] += 1 - share
        played += 1
        if played % 10 == 0:
            champion = max(won, key=won.get)
            print(f"{played} matches, {champion} leads with {won[champion] / played:.2f}", flush=True)
        time.sleep(random.uniform(0.7, 1.1))


if __name__ == "__main__":
    main()
