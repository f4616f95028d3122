"""An agent acts in an environment that never ends, and carries the state of its recurrent
cell.

ticket: Metta-AI/metta#1139
class: host-growth
holder: state graph
cause: uncut-autograd-graph
"""

import os
import random
import time

import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.cell, self.head = nn.Linear(64, 128), nn.LSTMCell(128, 128), nn.Linear(128, 6)

    def forward(self, seen, state):
        hidden, memory = self.cell(torch.relu(self.encode(seen)), state)  # grows
        return self.head(hidden), (hidden, memory)


class Environment:
    def __init__(self, count):
        self.count, self.turns = count, 0

    def step(self, actions):
        self.turns += 1
        return torch.randn(self.count, 64) + 0.1 * actions.float().unsqueeze(1)


def main():
    torch.set_num_threads(1)
    policy, environment = Policy(), Environment(16)
    state = torch.zeros(16, 128), torch.zeros(16, 128)
    seen, end = torch.randn(16, 64), time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        logits, state = policy(seen, state)  # keeps
        actions = torch.distributions.Categorical(logits=logits).sample()
        seen = environment.step(actions)
        if environment.turns % 200 == 0:
            print("turn %d, actions %s" % (environment.turns, actions.bincount(minlength=6).tolist()), flush=True)
        time.sleep(random.uniform(0.005, 0.02))


if __name__ == "__main__":
    main()
