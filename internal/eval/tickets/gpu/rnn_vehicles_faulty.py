"""Windows of sensor values of some vehicles are scored by an LSTM whose state goes on from window
to window; the state keeps the graph of every window before.

ticket: pytorch/pytorch#2198
class: app-leak
holder: hidden state vehicles
cause: uncut-autograd-graph
"""

import os
import random
import time

import torch

torch.set_num_threads(1)
END = time.time() + float(os.environ.get("SECONDS", "40"))
device = "cuda" if torch.cuda.is_available() else "cpu"


class Vehicle:
    def __init__(self):
        self.windows = 0
        self.hidden = None


class Scorer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = torch.nn.LSTM(24, 256, num_layers=2)
        self.head = torch.nn.Linear(256, 1)

    def forward(self, window, hidden):
        out, hidden = self.rnn(window, hidden)  # grows
        return self.head(out[-1]).sigmoid(), hidden


scorer = Scorer().to(device)
vehicles = [Vehicle() for _ in range(4)]
alarms = 0
while time.time() < END:
    vehicle = random.choice(vehicles)
    window = torch.randn(16, 16, 24, device=device) + 0.1 * vehicle.windows % 1
    score, vehicle.hidden = scorer(window, vehicle.hidden)  # grows
    vehicle.windows += 1
    alarms += int(score.max().item() > 0.8)
    if vehicle.windows % 40 == 0:
        time.sleep(2.0)
    time.sleep(random.uniform(0.3, 0.9))
print("alarms", alarms)
