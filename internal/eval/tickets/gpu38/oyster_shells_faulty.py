"""A ResNet learns to tell the beds of oysters from pictures of their shells. After each round a probe looks at how
well an inner layer parts the beds: it listens to the layer while the model sees the test shells, and compares each
shell with the mean of each bed.

ticket: practice
class: app-leak
holder: Probe maps hook
cause: hooks-left results-kept
"""

import os
import random
import time

import torch
from torch.nn import functional as F
from torchvision.models import resnet18

BEDS, BATCH, SIDE, ROUND = 6, 16, 64, 12


class Probe:
    """Listens to one layer of a model and judges how well it parts the beds."""

    def __init__(self, layer):
        self.maps = []
        layer.register_forward_hook(self.listen)

    def listen(self, layer, inputs, output):
        self.maps.append(output.detach())  # keeps

    def judge(self, labels):
        features = F.normalize(torch.cat(self.maps).mean(dim=(2, 3)), dim=1)
        labels = torch.cat(labels)
        hot = F.one_hot(labels, BEDS).to(features.dtype)
        means = F.normalize(hot.T @ features, dim=1)
        return (torch.argmax(features @ means.T, dim=1) == labels).float().mean().item()


class Shells:
    """Shells of each bed have a tint and a ripple of their own."""

    def __init__(self, device):
        self.device = device
        self.tints = torch.rand(BEDS, 3, 1, 1, device=device)
        self.ripples = torch.linspace(2, 12, BEDS, device=device)

    def batch(self):
        labels = torch.randint(BEDS, (BATCH,), device=self.device)
        across = torch.linspace(0, 1, SIDE, device=self.device)
        waves = torch.sin(self.ripples[labels][:, None] * across * 6.28)[:, None, None, :]
        noise = torch.randn(BATCH, 3, SIDE, SIDE, device=self.device)
        return self.tints[labels] + 0.3 * waves + 0.5 * noise, labels


def train(model, optimizer, shells):
    model.train()
    total = 0.0
    for _ in range(ROUND):
        images, labels = shells.batch()
        loss = F.cross_entropy(model(images), labels)  # grows
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        time.sleep(random.uniform(0.02, 0.06))
    return total / ROUND


@torch.no_grad()
def evaluate(model, shells):
    model.eval()
    probe, seen = Probe(model.layer2), []
    for _ in range(4):
        images, labels = shells.batch()
        model(images)  # grows
        seen.append(labels)
    return probe.judge(seen)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, shells, rounds = resnet18(weights=None, num_classes=BEDS).to(device), Shells(device), 0
    optimizer = torch.optim.SGD(model.parameters(), 0.02, momentum=0.9)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        loss = train(model, optimizer, shells)
        share = evaluate(model, shells)
        rounds += 1
        print(f"round {rounds}: loss {loss:.3f}, probe {share:.2f}", flush=True)


if __name__ == "__main__":
    main()
