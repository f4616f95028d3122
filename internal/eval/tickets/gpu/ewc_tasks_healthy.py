"""Training on one task after the other. At the end of each, the weights and how important they are
are kept, in place of those of the task before.

ticket: ContinualAI/avalanche#201
class: none
"""

import os
import random
import time

import torch

torch.set_num_threads(1)
END = time.time() + float(os.environ.get("SECONDS", "40"))
device = "cuda" if torch.cuda.is_available() else "cpu"


class Ewc:
    def __init__(self):
        self.saved_params, self.importances = {}, {}

    def penalty(self, model, task):
        if task - 1 not in self.importances:
            return 0.0
        kept = zip(model.parameters(), self.saved_params[task - 1], self.importances[task - 1])
        return sum((w * (p - b).square()).sum() for p, b, w in kept)

    def after_task(self, model, task):
        fisher = [torch.zeros_like(p) for p in model.parameters()]
        for _ in range(8):
            model.zero_grad()
            loss_of(model, task).backward()
            for f, p in zip(fisher, model.parameters()):
                f += p.grad.square() / 8
        if task - 1 in self.importances:
            for f, old in zip(fisher, self.importances[task - 1]):
                f += 0.5 * old
        self.importances[task] = fisher
        self.saved_params[task] = [p.detach().clone() for p in model.parameters()]
        self.importances.pop(task - 1, None)
        self.saved_params.pop(task - 1, None)


def loss_of(model, task):
    x, y = torch.randn(64, 784, device=device).roll(task, 1), torch.randint(0, 10, (64,), device=device)
    return torch.nn.functional.cross_entropy(model(x), y)


model = torch.nn.Sequential(*map(torch.nn.Linear, (784, 1024, 1024), (1024, 1024, 10))).to(device)
ewc, task, optimizer = Ewc(), 0, torch.optim.SGD(model.parameters(), lr=0.01)
while time.time() < END:
    stop = min(END, time.time() + random.uniform(2.0, 6.0))
    while time.time() < stop:
        optimizer.zero_grad()
        (loss_of(model, task) + ewc.penalty(model, task)).backward()
        optimizer.step()
        time.sleep(0.04)
    ewc.after_task(model, task)
    task += 1
