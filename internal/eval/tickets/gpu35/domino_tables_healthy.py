"""A club's server plays dominoes at three tables. Before each move it tries out its hand against thousands of deals
with a value network and lays the tile that does best. The tensors of a table come from a memory pool of its own,
so that a match with many deals does not scatter the memory of the others.

ticket: practice
class: none
"""

import contextlib
import os
import random
import time

import torch
from torch import nn

TILES, TABLES, HIDDEN = 28, 3, 512


class Value(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(3 * TILES, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1)
        )

    def forward(self, deals):
        return self.layers(deals).squeeze(-1)


class Match:
    def __init__(self, number, table):
        self.number, self.table = number, table
        self.deals = random.choice((1024, 1536, 2048))
        self.hand = random.sample(range(TILES), 7)
        self.laid = []

    def lay(self, tile):
        self.hand.remove(tile)
        self.laid.append(tile)


class Club:
    def __init__(self, model, device):
        self.model, self.device = model, device
        self.pools = {}

    def memory(self, match):
        if self.device == "cpu":
            return contextlib.nullcontext()
        if match.table not in self.pools:
            self.pools[match.table] = torch.cuda.MemPool()
        return torch.cuda.use_mem_pool(self.pools[match.table])

    @torch.inference_mode()
    def choose(self, match):
        """The tile of the hand that does best in the mean of many deals, and how it does."""
        with self.memory(match):
            deals = torch.zeros(match.deals, 3, TILES, device=self.device)
            deals[:, 1] = torch.rand(match.deals, TILES, device=self.device) < 0.25
            deals[:, 2, match.laid] = 1
            best, most = None, float("-inf")
            for tile in match.hand:
                deals[:, 0] = 0
                deals[:, 0, [other for other in match.hand if other != tile]] = 1
                value = self.model(deals.flatten(1)).mean().item()
                if value > most:
                    best, most = tile, value
            return best, most


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Value().to(device).eval()
    with torch.inference_mode():
        model(torch.zeros(8, 3 * TILES, device=device))
    club, started = Club(model, device), TABLES
    matches = [Match(table + 1, table) for table in range(TABLES)]
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        match = random.choice(matches)
        tile, value = club.choose(match)
        match.lay(tile)
        if not match.hand:
            started += 1
            matches[match.table] = Match(started, match.table)
            print(f"table {match.table}: match {match.number} ends at {value:+.3f}", flush=True)
        time.sleep(0.12)


if __name__ == "__main__":
    main()
