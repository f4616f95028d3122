"""A graph network follows a graph of facts in which new kinds of relation turn up and old ones go out of use. A kind
has a matrix of its own, given to the optimizer when it turns up; it is taken out of
the network and of the optimizer when it goes.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch_geometric.nn import MessagePassing
from torch_geometric.utils import negative_sampling

WIDTH, NODES = 384, 500


class RelationLayer(MessagePassing):
    """Means over the neighbours, with a matrix for each kind of relation."""

    def __init__(self, device):
        super().__init__(aggr="mean")
        self.device = device
        self.own = nn.Linear(WIDTH, WIDTH, device=device)
        self.kinds = nn.ParameterDict()

    def appear(self, kind):
        self.kinds[kind] = nn.Parameter(torch.randn(WIDTH, WIDTH, device=self.device) / WIDTH**0.5)
        return self.kinds[kind]

    def forward(self, nodes, facts):
        out = self.own(nodes)
        for kind, edges in facts.items():
            out = out + self.propagate(edges, x=nodes @ self.kinds[kind])
        return torch.relu(out)

    def message(self, x_j):
        return x_j


def score(found, edges):
    return (found[edges[0]] * found[edges[1]]).sum(1) / WIDTH**0.5


def retire(layer, optimizer, kind):
    weight = layer.kinds.pop(kind)
    optimizer.param_groups[:] = [group for group in optimizer.param_groups if group["params"][0] is not weight]
    optimizer.state.pop(weight, None)


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    nodes = nn.Parameter(torch.randn(NODES, WIDTH, device=device))
    layer, facts = RelationLayer(device), {}
    optimizer = torch.optim.Adam([{"params": [nodes]}, {"params": list(layer.own.parameters())}], lr=1e-3)
    born = step = 0
    while time.time() < end:
        if len(facts) < 4 or random.random() < 0.25:
            kind = f"kind{born}"
            born += 1
            facts[kind] = torch.randint(0, NODES, (2, random.randint(600, 1800)), device=device)
            optimizer.add_param_group({"params": [layer.appear(kind)], "lr": 3e-3})
        if len(facts) > 6:
            kind = random.choice(list(facts)[:3])
            del facts[kind]
            retire(layer, optimizer, kind)
        known = torch.cat(list(facts.values()), 1)
        wrong = negative_sampling(known, NODES, num_neg_samples=1000)
        found = layer(nodes, facts)
        chances = torch.cat([score(found, known[:, torch.randint(0, known.shape[1], (1000,))]), score(found, wrong)])
        truth = torch.zeros_like(chances)
        truth[:1000] = 1
        loss = nn.functional.binary_cross_entropy_with_logits(chances, truth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 50 == 0:
            print("step", step, "kinds", len(facts), "of", born, "loss", round(loss.item(), 4), flush=True)
        time.sleep(random.uniform(0.03, 0.1))


if __name__ == "__main__":
    main()
