"""The thermocouples of a pottery's kilns drift, and for each of them a small network is fitted that corrects its
readings. A flat minimum bodes well for the next firing. So after the fit the largest eigenvalue of the Hessian is
found by power iteration, and it is printed beside the error.

ticket: pytorch/pytorch#4661
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

READINGS, WIDTH, STEPS, ITERATIONS = 384, 256, 10, 4


def network():
    return nn.Sequential(
        nn.Linear(3, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 1), nn.Flatten(0)
    )


def firing(device):
    """What a thermocouple reads in one firing (voltage, ambient temperature, age), and the true temperature."""
    readings = torch.rand(READINGS, 3, device=device)
    bend, drift = random.uniform(0.2, 1.0), random.uniform(-0.3, 0.3)
    truth = readings[:, 0] + bend * readings[:, 0] ** 2 + drift * readings[:, 1] * readings[:, 2]
    return readings, truth


def fit(net, readings, truth):
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = F.mse_loss(net(readings), truth)
        loss.backward()
        optimizer.step()
        time.sleep(0.01)
    return loss.item()


def normalized(vectors):
    length = torch.sqrt(sum((vector**2).sum() for vector in vectors))
    return [vector / (length + 1e-9) for vector in vectors]


def sharpness(net, readings, truth):
    """The largest eigenvalue of the Hessian of the loss."""
    weights = list(net.parameters())
    net.zero_grad()
    loss = F.mse_loss(net(readings), truth)
    gradients = torch.autograd.grad(loss, weights, create_graph=True)
    direction = normalized([torch.randn_like(weight) for weight in weights])
    for _ in range(ITERATIONS):
        along = sum((gradient * part).sum() for gradient, part in zip(gradients, direction))
        bent = torch.autograd.grad(along, weights, retain_graph=True)
        value = sum((one * part).sum() for one, part in zip(bent, direction)).item()
        direction = normalized(bent)
    return value


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    fitted = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        net = network().to(device)
        readings, truth = firing(device)
        error = fit(net, readings, truth)
        sharp = sharpness(net, readings, truth)
        fitted += 1
        if fitted % 10 == 0:
            print(f"thermocouple {fitted}: error {error:.4f}, sharpness {sharp:.3f}", flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
