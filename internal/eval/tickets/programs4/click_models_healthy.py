"""A ranking model learns from clicks. The loss of all steps is
summed up as a number.

ticket: ULTR-Community/ULTRA_pytorch#6
class: none
"""

import os
import random
import time

import torch
from torch import nn


class Ranker:
    def __init__(self, width):
        self.model = nn.Sequential(nn.Linear(136, width), nn.ELU(), nn.Linear(width, width), nn.ELU(),
                                   nn.Linear(width, 1))
        self.optimizer = torch.optim.Adagrad(self.model.parameters(), lr=0.05)
        self.loss, self.steps = 0.0, 0

    def train(self, documents, clicks):
        self.optimizer.zero_grad()
        scores = self.model(documents).squeeze(-1)
        loss = -(clicks * torch.log_softmax(scores, dim=-1)).sum(dim=-1).mean()
        loss.backward(retain_graph=False)
        self.optimizer.step()
        self.loss += loss.item()
        self.steps += 1
        return self.loss / self.steps


def main():
    torch.set_num_threads(1)
    end, ranker, step = time.time() + float(os.environ.get("SECONDS", "45")), Ranker(96), 0
    while time.time() < end:
        lists = random.choice([24, 32, 48])
        documents = torch.randn(lists, 10, 136)
        mean = ranker.train(documents, (torch.rand(lists, 10) < 0.15).float())
        step += 1
        if step % 50 == 0:
            print("step %d loss %.4f" % (step, float(mean)), flush=True)
        time.sleep(random.uniform(0.02, 0.06))


if __name__ == "__main__":
    main()
