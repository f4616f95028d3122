"""Six depots learn together how long a snowplow needs for a road, without showing each other their roads (federated
learning). A depot takes the shared weights, trains them on its own roads, and sends the difference to the server. As
soon as four depots have answered a round, the server adds the mean of their answers and opens the next round.

ticket: practice
class: host-growth
holder: answers Server server
cause: entries-left
"""

import asyncio
import copy
import os
import random
import time
from collections import defaultdict

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FEATURES, QUORUM, LOCAL_STEPS = 64, 4, 5
PACES = {"Aarau": 0.15, "Brig": 0.2, "Chur": 0.15, "Davos": 0.2, "Engelberg": 0.5, "Flims": 0.6}


class Server:
    def __init__(self, device):
        self.model = nn.Sequential(
            nn.Linear(FEATURES, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 1)
        ).to(device)
        self.round = 0
        self.answers = defaultdict(dict)

    @torch.no_grad()
    def receive(self, round_number, depot, difference):
        answers = self.answers[round_number]
        answers[depot] = difference  # keeps
        if len(answers) < QUORUM:
            return
        for name, weight in self.model.named_parameters():
            mean = np.mean([answer[name] for answer in answers.values()], axis=0)
            weight += torch.from_numpy(mean).to(weight.device)
        del self.answers[round_number]
        self.round += 1


class Depot:
    def __init__(self, name, device):
        self.name, self.device = name, device
        self.snow = 0.5 + random.random()

    def roads(self, count):
        features = torch.rand(count, FEATURES, device=self.device)
        return features, self.snow * features.mean(dim=1, keepdim=True)

    def train(self, shared):
        """The difference that some steps on this depot's roads make to the shared weights."""
        model = copy.deepcopy(shared)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
        for _ in range(LOCAL_STEPS):
            features, minutes = self.roads(32)
            loss = F.mse_loss(model(features), minutes)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        before = dict(shared.named_parameters())
        return {
            name: (weight - before[name]).detach().cpu().numpy()  # grows
            for name, weight in model.named_parameters()
        }

    async def work(self, server, end):
        while time.time() < end:
            round_number = server.round
            difference = self.train(server.model)  # grows
            await asyncio.sleep(PACES[self.name] * random.uniform(0.8, 1.5))
            server.receive(round_number, self.name, difference)


async def report(server, depots, end):
    while time.time() < end:
        await asyncio.sleep(1.5)
        errors = []
        for depot in depots:
            features, minutes = depot.roads(64)
            with torch.no_grad():
                errors.append(F.mse_loss(server.model(features), minutes).item())
        print(f"round {server.round}: error {np.mean(errors):.4f}, worst depot {max(errors):.4f}", flush=True)


async def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    server, depots = Server(device), [Depot(name, device) for name in PACES]
    await asyncio.gather(report(server, depots, end), *(depot.work(server, end) for depot in depots))


if __name__ == "__main__":
    asyncio.run(main())
