"""A model learns one task after the other. Each gets an adapter and an optimizer.

ticket: common practice: add_param_group for each task
class: none
"""

import os
import random
import time

import torch
from torch import nn


class Learner:
    def __init__(self):
        self.base = nn.Linear(256, 256)
        self.optimizer = torch.optim.Adam(self.base.parameters(), 1e-3)

    def learn(self, steps):
        adapter = nn.Sequential(nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 8))
        self.optimizer = torch.optim.Adam([*self.base.parameters(), *adapter.parameters()], 1e-3)
        for _ in range(steps):
            self.optimizer.zero_grad()
            loss = adapter(self.base(torch.randn(16, 256))).square().mean()
            loss.backward()
            self.optimizer.step()
            time.sleep(random.uniform(0.01, 0.03))
        return loss.item()


def main():
    torch.set_num_threads(1)
    learner, end, tasks = Learner(), time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        loss = learner.learn(random.randint(5, 12))
        tasks += 1
        if tasks % 20 == 0:
            print("task", tasks, loss, flush=True)


if __name__ == "__main__":
    main()
