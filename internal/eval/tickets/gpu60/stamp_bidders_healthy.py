"""Looks for shill bidders at stamp auctions. Accounts that bid against each other are joined in a graph, and a graph
network judges an account by those within three steps of it. Some accounts bid all day, so the surroundings of an
account are cached; they go with the version of the graph, since new bids come in between.

ticket: practice
class: none
"""

import functools
import itertools
import os
import random
import time

import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import SAGEConv
from torch_geometric.utils import k_hop_subgraph

ACCOUNTS, BIDS, FEATURES, STEPS = 20_000, 180_000, 256, 3
NEW_BIDS, NEW_EVERY = 2_000, 40


class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([SAGEConv(FEATURES, 64), SAGEConv(64, 64), SAGEConv(64, 64)])
        self.out = nn.Linear(64, 1)

    def forward(self, part):
        hidden = part.x
        for conv in self.convs:
            hidden = conv(hidden, part.edge_index).relu()
        return self.out(hidden[part.asked]).sigmoid().squeeze()


class Screener:
    """The graph of the bids, and the judge that looks at it."""

    def __init__(self, device):
        self.device = device
        self.judge = Judge().to(device).eval()
        self.features = torch.randn(ACCOUNTS, FEATURES, device=device)
        self.bids = torch.randint(ACCOUNTS, (2, BIDS), device=device)
        self.version = 0

    def add_bids(self):
        """New bids take the place of the oldest."""
        new = torch.randint(ACCOUNTS, (2, NEW_BIDS), device=self.device)
        self.bids = torch.cat([self.bids[:, NEW_BIDS:], new], dim=1)
        self.version += 1

    @functools.lru_cache(maxsize=32)
    def surroundings(self, account, version):
        near, edges, asked, _ = k_hop_subgraph(
            account, STEPS, self.bids, relabel_nodes=True, num_nodes=ACCOUNTS
        )
        features = self.features[near]
        return Data(x=features, edge_index=edges, asked=asked)

    @torch.no_grad()
    def suspicion(self, account):
        return self.judge(self.surroundings(account, self.version)).item()


def bidder():
    """An account. A few of them bid much more than the others."""
    return int(ACCOUNTS * random.random() ** 4)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    screener = Screener(device)
    highest = 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for asked in itertools.count(1):
        if time.time() > end:
            break
        highest = max(highest, screener.suspicion(bidder()))
        if asked % NEW_EVERY == 0:
            screener.add_bids()
            hits = Screener.surroundings.cache_info().hits
            print(f"{asked} bids, {hits} from the cache, highest suspicion {highest:.3f}", flush=True)
            time.sleep(0.3)
        time.sleep(random.uniform(0.03, 0.08))


if __name__ == "__main__":
    main()
