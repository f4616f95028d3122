"""A graph of payments is fed with a stream of them, and each account that is seen is scored by the last edges around
it. What comes is kept as one snapshot after the other; nothing takes out the old ones.

ticket: practice
class: app-leak
holder: snapshots edge_attr edge_index
cause: results-kept container-grows snapshots-kept
"""

import os
import random
import time

import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import GATv2Conv

ACCOUNTS, FEATURES = 3000, 48


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = GATv2Conv(16, 16, heads=2, edge_dim=FEATURES)
        self.second = nn.Linear(32, 1)

    def forward(self, x, edge_index, edge_attr):
        return self.second(torch.relu(self.first(x, edge_index, edge_attr)))[:, 0]


class Stream:
    """Draws payments; some accounts pay much more often than others, and some hours are busy."""

    def __init__(self, device):
        self.device = device
        self.weights = 1.0 / torch.arange(1, ACCOUNTS + 1, device=device) ** 0.7

    def draw(self, count):
        payers = torch.multinomial(self.weights, count, replacement=True)
        payees = torch.multinomial(self.weights, count, replacement=True)
        return torch.stack([payers, payees]), torch.randn(count, FEATURES, device=self.device)  # grows


class Monitor:
    def __init__(self, device, recent=6):
        self.recent, self.device, self.payments = recent, device, 0
        self.scorer = Scorer().to(device).eval()
        self.accounts = torch.randn(ACCOUNTS, 16, device=device)
        self.snapshots = []

    def add(self, edges, features):
        self.payments += edges.shape[1]
        self.snapshots.append(Data(edge_index=edges, edge_attr=features))  # keeps

    @torch.no_grad()
    def score(self, accounts):
        last = list(self.snapshots)[-self.recent:]
        edges = torch.cat([snapshot.edge_index for snapshot in last], 1)
        features = torch.cat([snapshot.edge_attr for snapshot in last])
        chosen = torch.isin(edges[1], accounts)
        return self.scorer(self.accounts, edges[:, chosen], features[chosen])[accounts]


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    monitor, stream, rounds = Monitor(device), Stream(device), 0
    while time.time() < end:
        edges, features = stream.draw(random.choice([300, 600, 600, 2500]))
        monitor.add(edges, features)
        scores = monitor.score(edges[1].unique())
        rounds += 1
        if rounds % 50 == 0:
            print(monitor.payments, "payments, highest score", round(scores.max().item(), 3), flush=True)
        time.sleep(random.uniform(0.08, 0.25))


if __name__ == "__main__":
    main()
