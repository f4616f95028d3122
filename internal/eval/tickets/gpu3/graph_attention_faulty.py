"""Molecules of any size are classified by a graph network with attention. How it attends is kept for each batch
of an epoch, for a picture of the hardest; nobody starts a new list with a new epoch.

ticket: pyg-team/pytorch_geometric#1595
class: app-leak
holder: attended
cause: results-kept uncut-autograd-graph
"""

import logging
import os
import random
import time

import torch
from torch import nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GATConv, global_mean_pool
from torch_geometric.utils import erdos_renyi_graph

log = logging.getLogger("molecules")


def molecule():
    atoms = random.randint(20, 70)
    edges = erdos_renyi_graph(atoms, 0.12)
    return Data(x=torch.randn(atoms, 48), edge_index=edges, y=torch.tensor([edges.shape[1] % 2]))


class Attention:
    """How the first layer attended, batch after batch."""

    def __init__(self):
        self.attended = []

    def begin(self):
        log.debug("a new epoch begins")

    def add(self, loss, edges, alpha):
        self.attended.append((loss, edges, alpha))  # keeps

    def hardest(self):
        loss, _, alpha = max(self.attended, key=lambda kept: kept[0])
        return loss, alpha.max().item()


class Classifier(nn.Module):
    def __init__(self, heads=4):
        super().__init__()
        self.first = GATConv(48, 48, heads=heads)
        self.second = GATConv(48 * heads, 64, heads=heads)
        self.head = nn.Linear(64 * heads, 2)

    def forward(self, batch):
        hidden, (edges, alpha) = self.first(batch.x, batch.edge_index, return_attention_weights=True)  # grows
        hidden = torch.relu(self.second(torch.relu(hidden), batch.edge_index))
        return self.head(global_mean_pool(hidden, batch.batch)), edges, alpha


class Training:
    def __init__(self, device):
        self.device, self.model, self.attention = device, Classifier().to(device), Attention()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)

    def step(self, molecules):
        batch = Batch.from_data_list(molecules).to(self.device)
        scores, edges, alpha = self.model(batch)
        loss = nn.functional.cross_entropy(scores, batch.y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.attention.add(loss.item(), edges, alpha)

    def epoch(self, end):
        self.attention.begin()
        for _ in range(16):
            self.step([molecule() for _ in range(random.choice([96, 128, 160]))])
            if time.time() > end:
                break
            time.sleep(random.uniform(0.03, 0.1))
        return self.attention.hardest()


def main():
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    training, epoch = Training("cuda" if torch.cuda.is_available() else "cpu"), 0
    while time.time() < end:
        epoch += 1
        log.info("epoch %d: hardest loss %.3f, sharpest %.3f", epoch, *training.epoch(end))


if __name__ == "__main__":
    main()
