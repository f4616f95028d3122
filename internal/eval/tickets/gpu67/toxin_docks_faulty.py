"""Scores toxin-receptor pairs from a (simulated) stream of docked models. Every chain becomes a contact graph, a GCN
embeds both chains, and the interface score is the dot product of the embeddings. Only the scores of the best pairs are
kept for the table.

ticket: practice
class: app-leak
holder: chains complex Complex Chain graph
cause: reference-cycle
"""

import gc
import heapq
import os
import sys
import time
from collections import namedtuple

import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv, global_mean_pool

RESIDUES = "ACDEFGHIKLMNPQRSTVWY"
FEATURES, HIDDEN = 96, 128
CUTOFF = 9.0  # angstrom between C-alphas

Hit = namedtuple("Hit", "score name")


class Complex:
    def __init__(self, name):
        self.name = name
        self.chains = {}

    def add_chain(self, identifier, sequence, positions, device):
        self.chains[identifier] = Chain(self, identifier, sequence, positions, device)  # grows keeps


class Chain:
    def __init__(self, complex, identifier, sequence, positions, device):
        self.complex = complex  # keeps
        self.identifier = identifier
        self.length = len(sequence)
        self.graph = contact_graph(sequence, positions, device)  # grows

    @property
    def label(self):
        return f"{self.complex.name}_{self.identifier}({self.length} aa)"


def contact_graph(sequence, positions, device):
    positions = positions.to(device)
    kinds = torch.tensor([RESIDUES.index(letter) for letter in sequence], device=device)
    places = torch.arange(len(sequence), device=device)[:, None] / torch.logspace(0, 3, FEATURES // 2, device=device)
    x = torch.cat([places.sin(), places.cos()], dim=1)  # grows
    x[:, :20] += nn.functional.one_hot(kinds, 20)
    edges = (torch.cdist(positions, positions) < CUTOFF).nonzero().t().contiguous()  # grows
    return Data(x=x, edge_index=edges)


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = GCNConv(FEATURES, HIDDEN)
        self.second = GCNConv(HIDDEN, HIDDEN)

    def forward(self, graph):
        hidden = self.first(graph.x, graph.edge_index).relu()
        hidden = self.second(hidden, graph.edge_index).relu()
        return global_mean_pool(hidden, None)[0]


def read_model(number, device):
    """Stands for the PDB parser: a receptor and a short toxin, each a random walk of C-alphas."""
    model = Complex(f"dock{number:05d}")
    for identifier, length in (("R", 900), ("T", 120)):
        sequence = "".join(RESIDUES[index] for index in torch.randint(20, (length,)).tolist())
        model.add_chain(identifier, sequence, torch.randn(length, 3).mul(2.2).cumsum(dim=0), device)  # grows
    return model


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    gc.disable()  # the parser makes very many small objects, and the collector costs a fifth of its time
    device = "cuda" if torch.cuda.is_available() else "cpu"
    embedder = Embedder().to(device).eval()
    best, scored = [], 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        model = read_model(scored, device)
        receptor, toxin = model.chains["R"], model.chains["T"]
        score = torch.dot(embedder(receptor.graph), embedder(toxin.graph)).item()
        heapq.heappush(best, Hit(score, f"{receptor.label} + {toxin.label}"))
        if len(best) > 10:
            heapq.heappop(best)
        scored += 1
        if scored % 40 == 0:
            print(scored, f"{max(best).score:.4f}", max(best).name, sep="\t", flush=True)
        time.sleep(0.08)
    print(*(f"{hit.name}\t{hit.score:.4f}" for hit in sorted(best, reverse=True)), sep="\n", file=sys.stderr)


if __name__ == "__main__":
    main()
