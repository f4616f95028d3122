"""Good settings of a small network are searched for. A forest, to which trees are added after every trial, tells which
settings to try next; the trees of the first trials stay with it, and vote, as long as it lives.

ticket: practice
class: host-growth
holder: estimators_ forest
cause: results-kept buffer-without-bound
"""

import collections
import math
import os
import random
import time

import numpy as np
import torch
from sklearn.ensemble import RandomForestRegressor
from torch import nn

NEW = 10


class Search:
    """Proposes settings, each a number from 0 to 1, and learns how they did."""

    def __init__(self, settings=5):
        self.settings = settings
        self.known = collections.deque(maxlen=600)
        self.forest = RandomForestRegressor(n_estimators=NEW, warm_start=True, n_jobs=1)
        self.fitted = False

    def propose(self):
        choices = np.random.rand(64, self.settings)
        if not self.fitted or random.random() < 0.15:
            return choices[0]
        return choices[self.forest.predict(choices).argmin()]

    def learn(self, settings, losses):
        """What came out at the steps of a trial; the step is one more column."""
        for step, loss in enumerate(losses):
            self.known.append((*settings, step / len(losses), loss))
        table = np.array(self.known)
        table = np.concatenate([table, table + np.random.normal(0, 0.01, table.shape)])
        if self.fitted:
            self.forest.n_estimators += NEW
        self.forest.fit(table[:, :self.settings], table[:, -1])  # grows keeps
        self.fitted = True


def trial(settings, device):
    rate, width, depth, decay, noise = settings
    width, depth = 16 + int(112 * width), 1 + int(3 * depth)
    layers = [nn.Linear(8, width), nn.ReLU()]
    for _ in range(depth - 1):
        layers += [nn.Linear(width, width), nn.ReLU()]
    model = nn.Sequential(*layers, nn.Linear(width, 1)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=10 ** (-4 + 3 * rate), weight_decay=decay)
    losses = []
    for _ in range(30):
        rows = torch.randn(128, 8, device=device)
        target = torch.sin(rows[:, :4]).sum(1, keepdim=True) * rows[:, 4:5]
        loss = nn.functional.mse_loss(model(rows + 0.2 * noise * torch.randn_like(rows)), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [math.log(value + 1e-6) for value in torch.stack(losses).tolist()]


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    search, best, trials = Search(), math.inf, 0
    while time.time() < end:
        settings = search.propose()
        losses = trial(settings, device)
        search.learn(settings, losses)
        trials += 1
        best = min(best, losses[-1])
        if trials % 20 == 0:
            print(trials, "trials, best", round(best, 4), "at last", np.round(settings, 2).tolist(), flush=True)
        time.sleep(random.uniform(0.01, 0.06))


if __name__ == "__main__":
    main()
