"""Meta-learning for truffle dogs: each dog's nose answers to a blend of scents in its own way, and a network should
learn a new dog from a few trials. After every few meta steps, dogs that were held out are learnt in the same manner,
and their loss on further trials, smoothed, says when the schedule lowers the learning rate.

ticket: practice
class: app-leak
holder: meter Meter smooth
cause: uncut-autograd-graph
"""

import os
import random
import time

import torch
from torch.nn import functional as F

SCENTS, HIDDEN, TRIALS = 32, 384, 64
INNER_STEPS, INNER_RATE = 3, 0.05
EVALUATE_EVERY, PATIENCE = 5, 6


class Meter:
    """An average which forgets."""

    def __init__(self, decay=0.9):
        self.decay, self.smooth = decay, None

    def update(self, value):
        if self.smooth is None:
            self.smooth = value
        else:
            self.smooth = self.decay * self.smooth + (1 - self.decay) * value  # keeps


class Plateau:
    def __init__(self, optimizer):
        self.optimizer, self.best, self.bad = optimizer, float("inf"), 0

    def step(self, loss):
        if loss < self.best:
            self.best, self.bad = loss, 0
            return
        self.bad += 1
        if self.bad > PATIENCE:
            self.bad = 0
            for group in self.optimizer.param_groups:
                group["lr"] = max(0.7 * group["lr"], 1e-5)


def parameters(device):
    shapes = (HIDDEN, SCENTS), (HIDDEN, HIDDEN), (1, HIDDEN)
    weights = []
    for out, into in shapes:
        weights.append((torch.randn(out, into, device=device) / into ** 0.5).requires_grad_())
        weights.append(torch.zeros(out, device=device, requires_grad=True))
    return weights


def network(weights, scents):
    hidden = torch.tanh(F.linear(scents, weights[0], weights[1]))
    hidden = torch.tanh(F.linear(hidden, weights[2], weights[3]))
    return F.linear(hidden, weights[4], weights[5]).squeeze(1)


def dog(device):
    """Trials to learn from, and trials to be judged by."""
    nose = torch.randn(SCENTS, device=device)
    scents = torch.randn(2, TRIALS, SCENTS, device=device)
    answers = torch.sin(scents @ nose)
    return (scents[0], answers[0]), (scents[1], answers[1])


def adapt(weights, scents, answers):
    for _ in range(INNER_STEPS):
        loss = F.mse_loss(network(weights, scents), answers)
        grads = torch.autograd.grad(loss, weights, create_graph=True)
        weights = [weight - INNER_RATE * grad for weight, grad in zip(weights, grads)]
    return weights


def loss_after(weights, support, query):
    scents, answers = query
    return F.mse_loss(network(adapt(weights, *support), scents), answers)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    weights, meter, step = parameters(device), Meter(), 0
    optimizer = torch.optim.Adam(weights, lr=1e-3)
    plateau = Plateau(optimizer)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        optimizer.zero_grad()
        loss = sum(loss_after(weights, *dog(device)) for _ in range(4)) / 4
        loss.backward()
        optimizer.step()
        step += 1
        if step % EVALUATE_EVERY == 0:
            held_out = loss_after(weights, *dog(device))  # grows
            meter.update(held_out)
            plateau.step(float(meter.smooth))
        if step % 20 == 0:
            print(f"step {step}: loss {loss.item():.3f}, held out {float(meter.smooth):.3f}", flush=True)
        time.sleep(random.uniform(0.02, 0.08))


if __name__ == "__main__":
    main()
