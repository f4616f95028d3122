"""A brook network with beaver dams is watched by gauges, one at each node. A recurrent graph network is first fitted to
a few recorded floods. Then it runs beside the gauges: it reads the water levels as they come, forecasts the next ones
and prints its error. It remembers the past in a hidden state for each gauge.

ticket: practice
class: app-leak
holder: state Watch
cause: uncut-autograd-graph
"""

import os
import random
import time

import torch
from torch import nn
from torch_geometric.nn import GCNConv

GAUGES, WIDTH, FLOODS, HOURS = 1_500, 32, 8, 6


class BrookNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.gates = GCNConv(1 + WIDTH, 2 * WIDTH)
        self.candidate = GCNConv(1 + WIDTH, WIDTH)
        self.level = nn.Linear(WIDTH, 1)

    def forward(self, levels, state, edges):
        gates = self.gates(torch.cat([levels, state], dim=1), edges).sigmoid()  # grows
        reset, update = gates.chunk(2, dim=1)
        fresh = self.candidate(torch.cat([levels, reset * state], dim=1), edges).tanh()  # grows
        state = update * state + (1 - update) * fresh  # grows
        return levels + self.level(state), state


class Brook:
    """Gauges on a random tree, and the water that goes down it."""

    def __init__(self, device):
        below = torch.tensor([0] + [random.randrange(gauge) for gauge in range(1, GAUGES)])
        upper = torch.arange(GAUGES)
        self.below = below.to(device)
        self.edges = torch.cat([torch.stack([upper, below]), torch.stack([below, upper])], dim=1).to(device)
        self.levels = torch.rand(GAUGES, 1, device=device)

    def hour(self):
        rain = 0.2 * torch.rand(GAUGES, 1, device=self.levels.device)
        inflow = torch.zeros_like(self.levels).index_add_(0, self.below, 0.3 * self.levels)
        self.levels = (0.6 * self.levels + 0.2 * inflow.clamp(max=2.0) + rain).clamp(max=3.0)
        return self.levels


def fit(model, brook):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(FLOODS):
        state = torch.zeros(GAUGES, WIDTH, device=brook.levels.device)
        levels, loss = brook.hour(), 0.0
        for _ in range(HOURS):
            forecast, state = model(levels, state, brook.edges)
            levels = brook.hour()
            loss = loss + (forecast - levels).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    print(f"fitted, loss {loss.item() / HOURS:.4f}", flush=True)


class Watch:
    def __init__(self, model, brook):
        self.model, self.brook = model.eval(), brook
        self.state = torch.zeros(GAUGES, WIDTH, device=brook.levels.device)
        self.levels = brook.hour()

    def hour(self):
        """Forecasts the next hour, waits for it, and returns the error."""
        forecast, self.state = self.model(self.levels, self.state, self.brook.edges)  # keeps
        self.levels = self.brook.hour()
        return (forecast - self.levels).abs().mean().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    brook, model = Brook(device), BrookNet().to(device)
    fit(model, brook)
    watch, hours, errors = Watch(model, brook), 0, 0.0
    while time.time() < end:
        errors += watch.hour()
        hours += 1
        if hours % 24 == 0:
            print(f"day {hours // 24}: mean error {errors / 24:.4f}", flush=True)
            errors = 0.0
        time.sleep(random.uniform(0.04, 0.1))


if __name__ == "__main__":
    main()
