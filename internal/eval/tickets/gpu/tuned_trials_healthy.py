"""A search for how to train a network: each trial trains a new one with an optimizer that also learns its
own rate, for which the gradients keep their graph.
The gradients of the last step are taken off the network of the trial before it is dropped.

ticket: kach/gradient-descent-the-ultimate-optimizer#1
class: none
"""

import argparse
import logging
import os
import random
import time
import warnings

import torch
from torch import nn

log = logging.getLogger("search")


class TunedSGD:
    """Plain descent whose rate is a parameter of its own, moved by the gradient through the last step."""

    def __init__(self, model, rate, rate_of_rate):
        self.model, self.rate_of_rate = model, rate_of_rate
        self.rate = torch.tensor(rate, device=next(model.parameters()).device)
        self.last = None

    def begin(self):
        for p in self.model.parameters():
            p.grad = None

    def step(self):
        grads = [p.grad.detach() for p in self.model.parameters()]
        if self.last is not None:
            along = sum((a * b).sum() for a, b in zip(grads, self.last))
            self.rate = (self.rate + self.rate_of_rate * along).clamp(1e-4, 0.2)
        curvature = sum(p.grad.square().sum() for p in self.model.parameters())
        self.damping = 1.0 / (1.0 + 1e-3 * curvature.detach().sqrt())
        with torch.no_grad():
            for p, g in zip(self.model.parameters(), grads):
                p -= self.rate * self.damping * g
        self.last = [g.clone() for g in grads]

    def end(self):
        self.begin()
        self.last = None


class Digits:
    def __init__(self, device):
        self.device, self.centers = device, torch.randn(10, 784, device=device)

    def batch(self, size=64):
        labels = torch.randint(0, 10, (size,), device=self.device)
        return self.centers[labels] + torch.randn(size, 784, device=self.device), labels


def build(width, device):
    model = nn.Sequential(
        nn.Linear(784, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 10))
    return model.to(device)


def run_trial(options, digits, choice, end):
    model = build(choice["width"], digits.device)
    optimizer = TunedSGD(model, choice["rate"], 1e-3)
    for _ in range(random.randint(options.steps // 2, options.steps)):
        if time.time() > end:
            break
        x, labels = digits.batch()
        optimizer.begin()
        loss = nn.functional.cross_entropy(model(x), labels)
        loss.backward(create_graph=True)
        optimizer.step()
        time.sleep(options.pause)
    with torch.no_grad():
        x, labels = digits.batch(512)
        right = (model(x).argmax(dim=1) == labels).float().mean().item()
    optimizer.end()
    return right


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--pause", type=float, default=0.04)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    warnings.filterwarnings("ignore", message=".*create_graph.*")
    torch.set_num_threads(1)
    digits = Digits("cuda" if torch.cuda.is_available() else "cpu")
    end = time.time() + float(os.environ.get("SECONDS", "40"))
    history = []
    while time.time() < end:
        choice = {"width": random.choice([768, 1024, 1536]), "rate": 10 ** random.uniform(-3, -1)}
        right = run_trial(options, digits, choice, end)
        history.append((right, choice))
        log.info("trial %d: %s gives %.3f, best %.3f", len(history), choice, right, max(h[0] for h in history))


if __name__ == "__main__":
    main()
