"""Predicts how long barges wait at the locks of a canal network, with a graph network over locks and reaches. Now and
then an audit looks at which reaches the prediction leans on: a probe listens to the messages of the first layer during
a few predictions and sums up their size. Its result is printed and the probe is taken off.

ticket: practice
class: none
"""

import os
import random
import time
from dataclasses import dataclass

import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import SAGEConv


@dataclass
class Config:
    locks: int = 4_000
    reaches: int = 32_000
    features: int = 32
    hidden: int = 48
    audit_every: int = 8
    audit_length: int = 3


class WaitModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.first = SAGEConv(config.features, config.hidden)
        self.second = SAGEConv(config.hidden, 1)

    def forward(self, data):
        hidden = self.first(data.x, data.edge_index).relu()
        return self.second(hidden, data.edge_index).squeeze(-1)


class ReachProbe:
    """Sums up the size of the messages along each reach."""

    def __init__(self, conv):
        self.load, self.predictions = None, 0
        self.handle = conv.register_message_forward_hook(self.listen)

    def listen(self, conv, inputs, messages):
        size = messages.abs()
        self.load = size if self.load is None else self.load + size
        self.predictions += 1

    def busiest(self, count=3):
        return (self.load.sum(dim=1) / self.predictions).topk(count).indices.tolist()


class Office:
    def __init__(self, config, device):
        self.config, self.device = config, device
        self.model = WaitModel(config).to(device).eval()
        self.reaches = torch.randint(config.locks, (2, config.reaches), device=device)

    def traffic(self):
        features = torch.randn(self.config.locks, self.config.features, device=self.device)
        return Data(x=features, edge_index=self.reaches)

    @torch.no_grad()
    def predict(self):
        return self.model(self.traffic())

    def audit(self):
        probe = ReachProbe(self.model.first)
        for _ in range(self.config.audit_length):
            self.predict()
        probe.handle.remove()
        return probe.busiest()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(3)
    config = Config()
    office = Office(config, "cuda" if torch.cuda.is_available() else "cpu")
    hour, audits, end = 0, 0, time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        waits = office.predict()
        hour += 1
        if hour % config.audit_every == 0:
            busiest = office.audit()
            audits += 1
            if audits % 4 == 0:
                print(f"hour {hour}: longest wait {waits.max().item():.2f}, busiest reaches {busiest}", flush=True)
        time.sleep(random.uniform(0.03, 0.07))


if __name__ == "__main__":
    main()
