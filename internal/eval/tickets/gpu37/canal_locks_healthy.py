"""Forecasts the levels of the chambers along a canal. Training and validation go on side by side: every few steps
the trainer hands a copy of its weights to a judge, which has a thread and a model of its own and tries the weights on
a week of levels. What the judge found best is what early stopping goes by: without progress, training starts afresh.

ticket: practice
class: none
"""

import os
import queue
import random
import threading
import time

import torch
from torch import nn
from torch.nn import functional as F

CHAMBERS, PAST, HIDDEN = 16, 12, 448
HAND_OVER, PATIENCE = 3, 25
PARTS_OF_WEEK = 7


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells = nn.GRU(CHAMBERS, HIDDEN, batch_first=True)
        self.levels = nn.Linear(HIDDEN, CHAMBERS)

    def forward(self, past):
        return self.levels(self.cells(past)[0][:, -1])


def levels(many, device):
    """Levels over the past hours, and the levels an hour later."""
    phase = 6.28 * torch.rand(many, 1, CHAMBERS, device=device)
    hours = torch.arange(PAST + 1, device=device).view(1, -1, 1)
    tide = torch.sin(hours / 4 + phase) + 0.1 * torch.randn(many, PAST + 1, CHAMBERS, device=device)
    return tide[:, :-1], tide[:, -1]


class Judge(threading.Thread):
    def __init__(self, device):
        super().__init__(daemon=True)
        self.device, self.model = device, Forecaster().to(device)
        self.waiting = queue.Queue(maxsize=2)
        self.done = threading.Event()
        self.best, self.since_best, self.judged = float("inf"), 0, 0

    def hand_over(self, model):
        weights = {name: weight.detach().to("cpu", copy=True) for name, weight in model.state_dict().items()}
        self.waiting.put(weights)

    @torch.no_grad()
    def try_out(self, weights):
        self.model.load_state_dict(weights)
        loss = 0.0
        for _ in range(PARTS_OF_WEEK):
            past, future = levels(32, self.device)
            loss += F.mse_loss(self.model(past), future).item() / PARTS_OF_WEEK
            time.sleep(0.07)
        return loss

    def run(self):
        while not self.done.is_set():
            try:
                weights = self.waiting.get(timeout=0.2)
            except queue.Empty:
                continue
            loss = self.try_out(weights)
            self.judged += 1
            self.since_best += 1
            if loss < self.best:
                self.best, self.since_best = loss, 0


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, judge = Forecaster().to(device), Judge(device)
    judge.start()
    optimizer, step = torch.optim.Adam(model.parameters(), lr=1e-3), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        past, future = levels(16, device)
        loss = F.mse_loss(model(past), future)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % HAND_OVER == 0:
            judge.hand_over(model)
        if judge.since_best > PATIENCE:
            model, judge.since_best, judge.best = Forecaster().to(device), 0, float("inf")
            optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        if step % 20 == 0:
            print(f"step {step}: loss {loss.item():.3f}, {judge.judged} judged, best {judge.best:.3f}", flush=True)
        time.sleep(random.uniform(0.02, 0.06))
    judge.done.set()
    judge.join()


if __name__ == "__main__":
    main()
