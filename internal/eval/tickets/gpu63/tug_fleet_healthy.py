"""Learns, while they work, how the tugs of a harbour answer to their helms. A model of the harbour's currents is shared
by all; each tug that comes to a berth gets a model of its own, which is fitted to its telemetry until it leaves. One
optimizer steps them all.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn

BERTHS, SIGNALS, WIDTH, WINDOW = 6, 24, 448, 64
STAY = 8


def network(inputs, outputs, width):
    first, second, last = nn.Linear(inputs, width), nn.Linear(width, width), nn.Linear(width, outputs)
    return nn.Sequential(first, nn.SiLU(), second, nn.SiLU(), last)


class Tug:
    """A vessel with its true behaviour, which telemetry shows with noise."""

    def __init__(self, number, device):
        self.name = f"tug-{number:04d}"
        self.response = torch.randn(SIGNALS, 3, device=device) / SIGNALS ** 0.5

    def telemetry(self):
        helm = torch.randn(WINDOW, SIGNALS, device=self.response.device)
        motion = torch.tanh(helm @ self.response)
        return helm, motion + 0.02 * torch.randn_like(motion)


class Harbour:
    def __init__(self, device):
        self.device = device
        self.currents = network(SIGNALS, 3, 64).to(device)
        self.optimizer = torch.optim.Adam(self.currents.parameters(), lr=1e-3)
        self.tugs, self.models = {}, {}

    def berth(self, tug):
        model = network(SIGNALS, 3, WIDTH).to(self.device)
        self.tugs[tug.name], self.models[tug.name] = tug, model
        self.optimizer.add_param_group({"params": list(model.parameters()), "lr": 2e-3, "name": tug.name})

    def leave(self, name):
        del self.tugs[name]
        for parameter in self.models.pop(name).parameters():
            self.optimizer.state.pop(parameter, None)
        self.optimizer.param_groups = [g for g in self.optimizer.param_groups if g.get("name") != name]

    def fit(self):
        """One step for all that are berthed; returns how far the models are off."""
        losses = []
        for name, tug in self.tugs.items():
            helm, motion = tug.telemetry()
            guess = self.models[name](helm) + self.currents(helm)
            losses.append(nn.functional.mse_loss(guess, motion))
        loss = torch.stack(losses).mean()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    harbour = Harbour(device)
    for number in range(BERTHS):
        harbour.berth(Tug(number, device))
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    arrived, steps = BERTHS, 0
    while time.time() < end:
        loss = harbour.fit()
        steps += 1
        if steps % STAY == 0:
            harbour.leave(random.choice(list(harbour.tugs)))
            harbour.berth(Tug(arrived, device))
            arrived += 1
        if steps % 50 == 0:
            print(f"step {steps}: {len(harbour.tugs)} tugs, loss {loss:.4f}, {arrived} arrived", flush=True)
        time.sleep(0.03)


if __name__ == "__main__":
    main()
