"""Water seeps through a dike. A graph network learns the pressure heads of a finite-element program, on meshes that are
refined at another place each time. Every twenty steps a new mesh is tried, and from the messages of the last layer the
program finds how much of the traffic goes through the tenth of the edges that carry the most.

ticket: practice
class: none
"""

import os
import time

import torch
from torch import nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.nn import MessagePassing

NODES, NEIGHBOURS, WIDTH = 1000, 8, 32


class Seepage(MessagePassing):
    def __init__(self):
        super().__init__(aggr="mean")
        self.exchange = nn.Sequential(nn.Linear(2 * WIDTH + 2, WIDTH), nn.SiLU(), nn.Linear(WIDTH, WIDTH))
        self.update_node = nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x, edge_index, offset):
        gathered = self.propagate(edge_index, x=x, offset=offset)
        return x + F.silu(self.update_node(torch.cat([x, gathered], dim=-1)))

    def message(self, x_i, x_j, offset):
        return self.exchange(torch.cat([x_i, x_j, offset], dim=-1))


class Dike(nn.Module):
    def __init__(self):
        super().__init__()
        self.lift = nn.Linear(4, WIDTH)
        self.layers = nn.ModuleList(Seepage() for _ in range(3))
        self.head = nn.Linear(WIDTH, 1)

    def forward(self, mesh):
        hidden = self.lift(mesh.x)
        for layer in self.layers:
            hidden = layer(hidden, mesh.edge_index, mesh.offset)
        return self.head(hidden)[:, 0]


def make_mesh(device):
    """A mesh with half its nodes about the place where it is refined, and heads that fall from the river on."""
    focus = torch.rand(2, device=device)
    places = torch.rand(NODES, 2, device=device)
    places[::2] = (focus + 0.1 * torch.randn(NODES // 2, 2, device=device)).clamp(0, 1)
    near = torch.cdist(places, places).topk(NEIGHBOURS + 1, largest=False).indices[:, 1:]
    target = torch.arange(NODES, device=device).repeat_interleave(NEIGHBOURS)
    edge_index = torch.stack([near.flatten(), target])
    river, clay = torch.rand(2, device=device)
    x = torch.cat([places, river.expand(NODES, 1), clay.expand(NODES, 1)], dim=-1)
    heads = river * (1 - places[:, 0]) ** (0.5 + clay) + 0.1 * places[:, 1]
    return Data(x=x, edge_index=edge_index, offset=places[edge_index[0]] - places[edge_index[1]], y=heads)


@torch.no_grad()
def try_mesh(model, mesh):
    """The error of the heads, and the share of the busiest tenth of the edges."""
    flows = []
    hook = model.layers[-1].register_message_forward_hook(lambda layer, inputs, flow: flows.append(flow))
    error = F.l1_loss(model(mesh), mesh.y).item()
    hook.remove()
    strength = flows[-1].norm(dim=-1)
    busiest = strength.topk(len(strength) // 10).values
    return error, (busiest.sum() / strength.sum()).item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, step = Dike().to(device), 0
    adam = torch.optim.Adam(model.parameters(), lr=2e-3)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        if step % 20 == 0:
            error, share = try_mesh(model, make_mesh(device))
            print(f"step {step}: error {error:.4f}, {share:.0%} through a tenth of the edges", flush=True)
        mesh = make_mesh(device)
        loss = F.mse_loss(model(mesh), mesh.y)
        adam.zero_grad()
        loss.backward()
        adam.step()
        step += 1
        time.sleep(0.06)


if __name__ == "__main__":
    main()
