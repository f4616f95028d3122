"""Meta-learning: each task adapts a copy of the model, with autograd.grad(create_graph=True), so that
the copy and its graph go with the task.

ticket: pytorch/pytorch#4661
class: none
"""

import copy
import os
import random
import time

import torch

torch.set_num_threads(1)
END = time.time() + float(os.environ.get("SECONDS", "40"))
device = "cuda" if torch.cuda.is_available() else "cpu"


def network():
    return torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.Tanh(), torch.nn.Linear(512, 512),
                               torch.nn.Tanh(), torch.nn.Linear(512, 5)).to(device)


def sample(shots):
    return torch.randn(shots, 64, device=device), torch.randint(0, 5, (shots,), device=device)


def adapt(meta, shots):
    learner = copy.deepcopy(meta)
    x, y = sample(shots)
    loss = torch.nn.functional.cross_entropy(learner(x), y)
    grads = torch.autograd.grad(loss, list(learner.parameters()), create_graph=True)
    fast = [p - 0.05 * g for p, g in zip(learner.parameters(), grads)]
    x, y = sample(shots)
    h = torch.tanh(x @ fast[0].t() + fast[1])
    h = torch.tanh(h @ fast[2].t() + fast[3])
    query = torch.nn.functional.cross_entropy(h @ fast[4].t() + fast[5], y)
    return query.detach(), torch.autograd.grad(query, list(learner.parameters()))


meta = network()
optimizer = torch.optim.Adam(meta.parameters(), lr=1e-3)
batch = 0
while time.time() < END:
    optimizer.zero_grad()
    losses = []
    for _ in range(random.randint(1, 4)):
        loss, gradients = adapt(meta, random.choice((5, 10, 20)))
        losses.append(loss)
        for p, g in zip(meta.parameters(), gradients):
            p.grad = g.clone() if p.grad is None else p.grad + g
    optimizer.step()
    batch += 1
    if batch % 15 == 0:
        print("batch", batch, "loss", round(float(torch.stack(losses).mean()), 3), flush=True)
        time.sleep(3.0)
    time.sleep(random.uniform(1.0, 2.4))
