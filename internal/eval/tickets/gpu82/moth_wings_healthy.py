"""A large network that knows the wings of moths teaches a small one. The student learns from the softened answers of
the teacher. Every few steps we look how alike the two see: the features of both are tapped during an evaluation, and
their linear CKA is printed.

ticket: practice
class: none
"""

import os
import time

import torch
from torch import nn
from torch.nn import functional as F

SPECIES, BATCH, SIDE = 30, 32, 48


def network(width, depth):
    layers = [nn.Conv2d(3, width, 3, stride=2, padding=1), nn.ReLU()]
    for _ in range(depth):
        layers += [nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
    body = nn.Sequential(*layers)
    return nn.Sequential(body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, SPECIES))


class Tap:
    """Centred features that come out of a module."""

    def __init__(self, module):
        self.features = None
        self.handle = module.register_forward_hook(self.take)

    def take(self, module, inputs, output):
        flat = output.detach().flatten(1)
        self.features = flat - flat.mean(dim=0)


def cka(first, second):
    """Linear CKA by the Gram matrices, which are small since the batch is."""
    one, two = first @ first.T, second @ second.T
    return ((one * two).sum() / (one.norm() * two.norm())).item()


class Distiller:
    def __init__(self, device, warmth=3.0):
        self.device, self.warmth = device, warmth
        self.teacher = network(48, 3).to(device).eval()
        self.student = network(24, 1).to(device)
        self.optimizer = torch.optim.SGD(self.student.parameters(), lr=0.05, momentum=0.9)

    def wings(self):
        return torch.rand(BATCH, 3, SIDE, SIDE, device=self.device)

    def step(self):
        images = self.wings()
        with torch.no_grad():
            taught = F.softmax(self.teacher(images) / self.warmth, dim=1)
        learnt = F.log_softmax(self.student(images) / self.warmth, dim=1)
        loss = F.kl_div(learnt, taught, reduction="batchmean") * self.warmth**2
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    @torch.no_grad()
    def compare(self):
        """How often the two agree, and how alike their features are."""
        taps = Tap(self.teacher[0]), Tap(self.student[0])
        images = self.wings()
        self.student.eval()
        agreed = self.teacher(images).argmax(1) == self.student(images).argmax(1)
        self.student.train()
        for tap in taps:
            tap.handle.remove()
        alike = cka(taps[0].features, taps[1].features)
        return agreed.float().mean().item(), alike


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    distiller, steps = Distiller(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        loss = distiller.step()
        steps += 1
        if steps % 6 == 0:
            agreed, alike = distiller.compare()
            print(f"step {steps}: loss {loss.item():.4f}, agree {agreed:.2f}, CKA {alike:.3f}", flush=True)
        time.sleep(0.1)


if __name__ == "__main__":
    main()
