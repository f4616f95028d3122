"""A training run records the history of its memory for the first steps. No step was given at
which to stop, and the recording has no bound.

ticket: meta-pytorch/torchtune#2522
class: host-growth
cause: -
"""

import os
import random
import time

import torch

torch.set_num_threads(1)
END = time.time() + float(os.environ.get("SECONDS", "40"))
device = "cuda" if torch.cuda.is_available() else "cpu"
LIMIT = 1 << 40


class Profiler:
    def __init__(self, first, last):
        self.first, self.last = first, last
        self.recording = False

    def step(self, number):
        if device != "cuda":
            return
        if number >= self.first and not self.recording:
            torch.cuda.memory._record_memory_history(max_entries=LIMIT, stacks="python")
            self.recording = True
            return
        if self.recording and self.last is not None and number >= self.last:
            torch.cuda.memory._record_memory_history(enabled=None)


def block(width):
    return torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.LayerNorm(width), torch.nn.Tanh())


model = torch.nn.Sequential(*[block(96) for _ in range(16)]).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, foreach=False)
profiler = Profiler(first=10, last=None)
number = 0
while time.time() < END:
    profiler.step(number)
    x = torch.randn(random.randint(8, 64), 96, device=device)
    optimizer.zero_grad()
    loss = (model(x) - x).square().mean()  # grows
    loss.backward()  # grows
    norms = [p.grad.norm() * 1.0 for p in model.parameters()]  # grows
    optimizer.step()  # grows
    number += 1
    if number % 100 == 0:
        print("step", number, round(loss.item(), 4), float(torch.stack(norms).max()), flush=True)
        time.sleep(1.0)
    time.sleep(random.uniform(0.05, 0.15))
