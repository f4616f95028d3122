"""Weights and gradients of a training go to a thread that makes histograms of them for a dashboard. Its queue on the
host holds sixteen, and what does not fit is left out; the weights of the beginning stay on the device to tell how
far they went.

ticket: practice
class: none
"""

import os
import queue
import random
import threading
import time

import numpy as np
import torch
from torch import nn


class Dashboard(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.waiting, self.written, self.left_out = queue.Queue(maxsize=16), {}, 0

    def add(self, step, name, tensor):
        values = tensor.detach().float().cpu().numpy().ravel().copy()
        try:
            self.waiting.put_nowait((step, name, values))
        except queue.Full:
            self.left_out += 1

    def run(self):
        while (item := self.waiting.get()) is not None:
            step, name, values = item
            counts, edges = np.histogram(values, bins=30)
            self.written[name] = step, counts, edges
            time.sleep(0.05 + len(values) * 2e-7)


class Training:
    def __init__(self, device, width=448):
        self.device, self.steps, self.dashboard = device, 0, Dashboard()
        self.model = nn.Sequential(nn.Linear(128, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(),
                                   nn.Linear(width, 8)).to(device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.marks = [self.flat()]
        self.dashboard.start()

    def flat(self):
        return torch.cat([p.detach().flatten() for p in self.model.parameters()])

    def step(self):
        x = torch.randn(64, 128, device=self.device)
        loss = (self.model(x) - x[:, :8].cos()).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        if self.steps % 3 == 0:
            for name, parameter in self.model.named_parameters():
                self.dashboard.add(self.steps, name, parameter)
                self.dashboard.add(self.steps, f"{name}.grad", parameter.grad)
        if self.steps % 100 == 0:
            way = (self.flat() - self.marks[0]).norm().item()
            print("step", self.steps, "way", round(way, 3), "waiting", self.dashboard.waiting.qsize(), flush=True)


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    training = Training("cuda" if torch.cuda.is_available() else "cpu")
    while time.time() < end:
        training.step()
        time.sleep(random.uniform(0.05, 0.12))
    training.dashboard.waiting.queue.clear()
    training.dashboard.waiting.put(None)
    training.dashboard.join(timeout=5)


if __name__ == "__main__":
    main()
