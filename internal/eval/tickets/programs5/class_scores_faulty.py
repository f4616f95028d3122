"""A model is validated after each epoch. What it gave is kept by class, with the graph that made it.

ticket: common practice: validation without no_grad
class: host-growth
holder: scores by_class
cause: uncut-autograd-graph results-kept
"""

import os
import random
import time
from collections import defaultdict

import torch
from torch import nn


class Validation:
    def __init__(self):
        self.scores = defaultdict(list)

    def run(self, model, batches):
        for _ in range(batches):
            x, label = torch.randn(16, 3, 32, 32), random.randrange(10)
            y = model(x)  # grows
            self.scores[label].append(y[:, label])  # keeps
            time.sleep(random.uniform(0.01, 0.03))
        return {k: torch.cat(v).mean().item() for k, v in self.scores.items()}


def main():
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(1800, 10))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    validation, end, epoch = Validation(), time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        for _ in range(random.randint(20, 30)):
            optimizer.zero_grad()
            loss = model(torch.randn(16, 3, 32, 32)).square().mean()
            loss.backward()
            optimizer.step()
            time.sleep(0.01)
        means = validation.run(model, random.randint(10, 20))
        epoch += 1
        if epoch % 5 == 0:
            print("epoch", epoch, means, flush=True)


if __name__ == "__main__":
    main()
