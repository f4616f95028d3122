"""Kayakers come to the tank one by one, each with sensors on the paddle. A trunk that all share and a head that is
made for the visitor learn to foretell the force of the next stroke; one optimizer trains both. When the kayaker has
gone, the head is done with, and the trunk takes what it learnt to the next.

ticket: practice
class: app-leak
holder: optimizer Adam param_groups state
cause: optimizer-groups-added
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

SENSORS, STEPS, WIDTH, HEAD = 12, 40, 192, 768
STROKES, BATCH = 14, 24


class Trunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(SENSORS, WIDTH, 5, stride=2, padding=2)
        self.gru = nn.GRU(WIDTH, WIDTH, batch_first=True)

    def forward(self, strokes):
        hidden = F.relu(self.conv(strokes)).transpose(1, 2)
        return self.gru(hidden)[0][:, -1]


def make_head(device):
    return nn.Sequential(nn.Linear(WIDTH, HEAD), nn.ReLU(), nn.Linear(HEAD, HEAD // 2), nn.ReLU(),
                         nn.Linear(HEAD // 2, STEPS)).to(device)  # grows


class Kayaker:
    """Somebody with a rhythm and a strength of their own."""

    def __init__(self, device):
        self.device = device
        self.rhythm, self.strength = random.uniform(0.2, 0.6), random.uniform(0.5, 2.0)
        self.sway = torch.rand(SENSORS, 1, device=device)

    def strokes(self):
        start = 6.28 * torch.rand(BATCH, 1, 1, device=self.device)
        time_axis = torch.arange(2 * STEPS, device=self.device) * self.rhythm
        force = self.strength * torch.sin(start + time_axis)
        seen = force[..., :STEPS] * self.sway + 0.1 * torch.randn(BATCH, SENSORS, STEPS, device=self.device)
        return seen, force[:, 0, STEPS:]


class Tank:
    def __init__(self, device):
        self.device = device
        self.trunk = Trunk().to(device)
        self.optimizer = torch.optim.Adam(self.trunk.parameters(), 1e-3)

    def visit(self, kayaker):
        """Train with one kayaker and give the loss of the last stroke."""
        head = make_head(self.device)
        self.optimizer.add_param_group({"params": list(head.parameters()), "lr": 3e-3})  # keeps
        for _ in range(STROKES):
            seen, wanted = kayaker.strokes()
            loss = F.mse_loss(head(self.trunk(seen)), wanted)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()  # grows keeps
            time.sleep(random.uniform(0.01, 0.03))
        return loss.item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tank, visits = Tank(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        loss = tank.visit(Kayaker(device))
        visits += 1
        if visits % 5 == 0:
            print(f"{visits} kayakers, last loss {loss:.3f}", flush=True)
        time.sleep(random.uniform(0.05, 0.15))


if __name__ == "__main__":
    main()
