"""A training that now and then goes astray is resumed from the best of its checkpoints, of which three count. They are
written to memory, as the disk is slow. One that is no longer among the best is struck off the list.

ticket: practice
class: host-growth
holder: files
cause: snapshots-kept results-kept cache-without-bound
"""

import io
import os
import random
import time

import torch
from torch import nn


class Checkpoints:
    """The best states of a training, as files in memory."""

    def __init__(self, count=3):
        self.count = count
        self.best, self.files = [], {}

    def save(self, name, score, state):
        file = io.BytesIO()
        torch.save(state, file)  # grows
        self.files[name] = file  # keeps
        self.best = sorted([*self.best, (score, name)])
        while len(self.best) > self.count:
            score, worst = self.best.pop()
            print("no longer kept:", worst, "with", round(score, 4), flush=True)

    def load_best(self, device):
        file = self.files[self.best[0][1]]
        file.seek(0)
        return torch.load(file, map_location=device)


class Training:
    def __init__(self, device):
        self.device = device
        self.model = nn.Sequential(nn.Linear(128, 700), nn.Tanh(), nn.Linear(700, 700), nn.Tanh(),
                                   nn.Linear(700, 16)).to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.mix = torch.randn(128, 16, device=device) / 11

    def loss(self):
        x = torch.randn(128, 128, device=self.device)
        return nn.functional.mse_loss(self.model(x), torch.sin(x @ self.mix * 2))

    def step(self):
        for group in self.optimizer.param_groups:
            group["lr"] = 0.5 if random.random() < 0.004 else 1e-3
        loss = self.loss()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())

    def state(self):
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}

    def resume(self, state):
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    training, checkpoints, step = Training("cuda" if torch.cuda.is_available() else "cpu"), Checkpoints(), 0
    while time.time() < end:
        loss = training.step()
        step += 1
        if loss > 5 and checkpoints.best:
            print("step", step, "astray at", round(loss, 2), flush=True)
            training.resume(checkpoints.load_best(training.device))
        elif step % 30 == 0:
            with torch.no_grad():
                score = sum(float(training.loss()) for _ in range(3)) / 3
            checkpoints.save(f"step{step:06d}", score, training.state())
        time.sleep(0.09)


if __name__ == "__main__":
    main()
