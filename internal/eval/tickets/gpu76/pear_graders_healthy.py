"""A grading line for pears learns one variety after another, as the trucks bring them. So that a new variety does not
spoil what was learned, the weights that mattered most up to now are protected at the end of each truck: their
gradient is set to zero. What matters is noted as the running maximum of the squared gradients.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

FEATURES, WIDTH, GRADES, BATCH, STEPS = 768, 1024, 6, 48, 12


class Grader(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(FEATURES, WIDTH)
        self.second = nn.Linear(WIDTH, WIDTH)
        self.last = nn.Linear(WIDTH, GRADES)

    def forward(self, pears):
        return self.last(F.relu(self.second(F.relu(self.first(pears)))))


class Guard:
    """Protects the weights that matter from the trucks to come."""

    def __init__(self, model, share=0.05):
        self.weights = [model.first.weight, model.second.weight]
        self.importance = [torch.zeros_like(weight) for weight in self.weights]
        self.share, self.handles = share, []

    @torch.no_grad()
    def note(self):
        for weight, importance in zip(self.weights, self.importance):
            torch.maximum(importance, weight.grad.square(), out=importance)

    def protect(self):
        while self.handles:
            self.handles.pop().remove()
        for weight, importance in zip(self.weights, self.importance):
            rank = int((1 - self.share) * importance.numel())
            threshold = importance.flatten().kthvalue(rank).values
            mask = (importance <= threshold).float()
            self.handles.append(weight.register_hook(lambda grad, mask=mask: grad * mask))


class Truck:
    """A variety: where its grades lie in the space of features."""

    def __init__(self, device):
        self.centres = torch.randn(GRADES, FEATURES, device=device)
        self.device = device

    def pears(self):
        grades = torch.randint(GRADES, (BATCH,), device=self.device)
        noise = 1.5 * torch.randn(BATCH, FEATURES, device=self.device)
        return self.centres[grades] + noise, grades


@torch.no_grad()
def accuracy(model, truck):
    pears, grades = truck.pears()
    return (model(pears).argmax(dim=-1) == grades).float().mean().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Grader().to(device)
    guard, optimizer, trucks = Guard(model), torch.optim.SGD(model.parameters(), lr=0.05), 0
    first = Truck(device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        truck = Truck(device) if trucks else first
        for _ in range(STEPS):
            pears, grades = truck.pears()
            loss = F.cross_entropy(model(pears), grades)
            optimizer.zero_grad()
            loss.backward()
            guard.note()
            optimizer.step()
            time.sleep(random.uniform(0.02, 0.06))
        guard.protect()
        trucks += 1
        print(f"truck {trucks}: {accuracy(model, truck):.2f} right, {accuracy(model, first):.2f} on the first",
              flush=True)


if __name__ == "__main__":
    main()
