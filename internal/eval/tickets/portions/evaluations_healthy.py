"""A training evaluates every few seconds, over seconds, on sets of any size, and keeps a number of each.

ticket: none, evaluations in long teeth
class: none
"""

import os
import random
import time

import torch

torch.set_num_threads(1)
END = time.time() + float(os.environ.get("SECONDS", "40"))
random.seed(9)


def evaluate(model):
    outputs = []
    with torch.no_grad():
        for _ in range(random.randrange(20, 120)):
            outputs.append(model(torch.randn(256, 64)))
            time.sleep(0.02)
    return torch.cat(outputs).mean().item()


def main():
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 512))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    scores = []
    while time.time() < END:
        for _ in range(random.randrange(60, 120)):
            optimizer.zero_grad()
            model(torch.randn(64, 64)).square().mean().backward()
            optimizer.step()
            time.sleep(0.02)
        scores.append(evaluate(model))
    print(len(scores), scores[-1])


main()
