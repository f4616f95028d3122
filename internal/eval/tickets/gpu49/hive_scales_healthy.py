"""Trains a forecast of hive weights without the readings leaving the apiaries (asynchronous federated averaging). A
client checks out the newest weights, trains on its own scale for a while and hands in its difference to the version
that it began with; the server weighs it by its staleness. A version goes when no client works on it
or an older one any more.

ticket: practice
class: none
"""

import heapq
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

APIARIES, HOURS, WIDTH = 8, 48, 448
LOCAL_STEPS, SLOWEST = 3, 9


def forecaster():
    return nn.Sequential(nn.Linear(HOURS, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1))


class Apiary:
    """A client: its hives gain weight at their own pace, and its computer is as slow as it is."""

    def __init__(self, device):
        self.gain, self.swing = random.uniform(-0.02, 0.05), random.uniform(0.1, 0.5)
        self.model = forecaster().to(device)
        self.device = device

    def batch(self):
        hours = torch.arange(HOURS + 1, device=self.device) + torch.randint(24, (64, 1), device=self.device)
        weights = self.gain * hours + self.swing * torch.sin(hours * 0.2618)
        weights = weights + 0.02 * torch.randn_like(weights)
        return weights[:, :HOURS], weights[:, HOURS:]

    def train(self, weights):
        self.model.load_state_dict(weights)
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.02, momentum=0.9)
        for _ in range(LOCAL_STEPS):
            past, following = self.batch()
            optimizer.zero_grad()
            loss = F.mse_loss(self.model(past), following)
            loss.backward()
            optimizer.step()
        return self.model.state_dict(), loss.item()


class Server:
    def __init__(self, device):
        self.version = 0
        self.versions = {0: forecaster().to(device).state_dict()}
        self.checked_out = {}

    def check_out(self, client):
        self.checked_out[client] = self.version
        oldest = min(self.checked_out.values())
        for version in [version for version in self.versions if version < oldest]:
            del self.versions[version]
        return self.version

    @torch.no_grad()
    def hand_in(self, client, weights):
        """Adds what the client changed, less so the older its base is."""
        base = self.checked_out.pop(client)
        begun, newest = self.versions[base], self.versions[self.version]
        share = 0.5 / (1 + self.version - base)
        merged = {name: newest[name] + share * (weights[name] - begun[name]) for name in newest}
        self.version += 1
        self.versions[self.version] = merged


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    server, apiaries = Server(device), [Apiary(device) for _ in range(APIARIES)]
    clock, losses = 0, [1.0] * APIARIES
    waiting = [(random.randint(1, SLOWEST), client) for client in range(APIARIES)]
    heapq.heapify(waiting)
    for client in range(APIARIES):
        server.check_out(client)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        clock, client = heapq.heappop(waiting)
        base = server.checked_out[client]
        weights, losses[client] = apiaries[client].train(server.versions[base])
        server.hand_in(client, weights)
        server.check_out(client)
        heapq.heappush(waiting, (clock + random.randint(1, SLOWEST), client))
        if server.version % 25 == 0:
            mean = sum(losses) / len(losses)
            print(f"version {server.version}: mean loss {mean:.4f}, last staleness {server.version - 1 - base}",
                  flush=True)
        time.sleep(random.uniform(0.03, 0.1))


if __name__ == "__main__":
    main()
