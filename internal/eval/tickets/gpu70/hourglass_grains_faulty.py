"""Sand runs through an hourglass, and a graph network learns how the grains push each other. Each turn of the glass is
recorded with the graph of every frame and written to a file when it is over. A turn that is cut off by the end of the
program is written as well, as far as it came.

ticket: practice
class: host-growth
holder: frames Turn atexit
cause: registered-for-the-end callbacks-left
"""

import atexit
import os
import tempfile
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GraphConv

GRAINS, NEAR, FRAMES, RADIUS = 1800, 8, 20, 0.02


class Turn:
    """The record of one turn of the glass."""

    def __init__(self, number):
        self.number, self.frames, self.closed = number, [], False
        self.path = os.path.join(tempfile.gettempdir(), f"hourglass_{number % 2}.npz")
        atexit.register(self.close)  # keeps

    def add(self, grains, edges):
        self.frames.append(Data(pos=grains.clone(), edge_index=edges).cpu())  # grows

    def close(self):
        if not self.closed and self.frames:
            np.savez(self.path, grains=np.stack([frame.pos.numpy() for frame in self.frames]))
        self.closed = True


class Pushes(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = GraphConv(4, 32), GraphConv(32, 2)

    def forward(self, grains, speeds, edges):
        return self.second(F.relu(self.first(torch.cat([grains, speeds], dim=-1), edges)), edges)


def neighbours(grains):
    """The edges from the nearest grains to each of them."""
    near = torch.cdist(grains, grains).topk(NEAR + 1, largest=False).indices[:, 1:]
    here = torch.arange(GRAINS, device=grains.device)[:, None].expand(-1, NEAR)
    return torch.stack([near.reshape(-1), here.reshape(-1)])


def pushes(grains, edges):
    """How the grains really push each other: those that overlap drive each other apart."""
    apart = grains[edges[1]] - grains[edges[0]]
    far = apart.norm(dim=-1, keepdim=True).clamp(min=1e-6)
    force = 20 * (RADIUS - far).clamp(min=0) * apart / far
    return torch.zeros_like(grains).index_add(0, edges[1], force)


def fall(grains, speeds, push):
    """A step of time: gravity, pushes, and the glass, which is narrow in its middle."""
    speeds = 0.95 * speeds + 0.02 * push
    speeds[:, 1] -= 0.002
    grains = grains + speeds
    wide = 0.03 + 0.5 * grains[:, 1].abs().clamp(max=1)
    return torch.stack([grains[:, 0].clamp(-wide, wide), grains[:, 1].clamp(-1, 1)], dim=-1), speeds


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, turns = Pushes().to(device), 0
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        turn, grains = Turn(turns), torch.rand(GRAINS, 2, device=device) * 0.3 + 0.2
        speeds = torch.zeros_like(grains)
        for _ in range(FRAMES):
            edges = neighbours(grains)
            truth = pushes(grains, edges)
            loss = F.mse_loss(model(grains, speeds, edges), truth)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            turn.add(grains, edges)
            grains, speeds = fall(grains, speeds, truth)
            time.sleep(0.01)
        turn.close()
        turns += 1
        print(f"turn {turns}: loss {loss.item():.5f}, mean height {grains[:, 1].mean().item():.3f}", flush=True)


if __name__ == "__main__":
    main()
