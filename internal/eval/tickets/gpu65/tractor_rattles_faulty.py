"""A tractor's microphone gives short spectra, and a small network says which part rattles. The tractors wear, so the
stream drifts, and the network never stops learning. Each weight earns credit for the loss that its moves took away,
and the more credit it has, the more firmly the penalty ties it to its anchor (synaptic intelligence without tasks).

ticket: practice
class: app-leak
holder: credit Consolidation consolidation
cause: uncut-autograd-graph
"""

import math
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

BINS, BATCH, FADE, STRENGTH = 256, 48, 0.995, 5.0
PARTS = "clutch", "belt", "exhaust", "bonnet", "axle"


class Consolidation:
    def __init__(self, model):
        self.model = model
        self.credit = {name: torch.zeros_like(weight) for name, weight in model.named_parameters()}
        self.anchors = {name: weight.detach().clone() for name, weight in model.named_parameters()}
        self.before = {}

    def remember(self):
        """Notes the weights before the optimizer moves them."""
        self.before = {name: weight.detach().clone() for name, weight in self.model.named_parameters()}

    def give_credit(self):
        for name, weight in self.model.named_parameters():
            move = weight - self.before[name]
            self.credit[name] = FADE * self.credit[name] - weight.grad * move  # keeps
            self.anchors[name].lerp_(weight.detach(), 0.01)

    def penalty(self):
        total = 0.0
        for name, weight in self.model.named_parameters():
            firmness = self.credit[name].detach().clamp(min=0)
            total = total + (firmness * (weight - self.anchors[name]).pow(2)).sum()
        return STRENGTH * total


def listen(step, device):
    """A batch of spectra: every part has its own pitch, which wanders with the wear."""
    labels = torch.randint(len(PARTS), (BATCH, 1), device=device)
    pitch = 20 + 45 * labels + 15 * math.sin(step / 80)
    bins = torch.arange(BINS, device=device)
    spectra = torch.exp(-((bins - pitch) / 6.0) ** 2) + 0.3 * torch.rand(BATCH, BINS, device=device)
    return spectra, labels.squeeze(1)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Sequential(
        nn.Linear(BINS, 512), nn.ReLU(), nn.Linear(512, 384), nn.ReLU(), nn.Linear(384, len(PARTS))
    ).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    consolidation = Consolidation(model)
    step, right = 0, 0.5
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        spectra, labels = listen(step, device)
        guesses = model(spectra)
        loss = F.cross_entropy(guesses, labels) + consolidation.penalty()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # grows
        consolidation.remember()
        optimizer.step()
        consolidation.give_credit()
        right = 0.95 * right + 0.05 * (guesses.argmax(1) == labels).float().mean().item()
        step += 1
        if step % 20 == 0:
            most = max(value.max().item() for value in consolidation.credit.values())
            print(f"{step} batches: {right:.2f} right, most credit {most:.2e}", flush=True)
        time.sleep(random.uniform(0.05, 0.12))


if __name__ == "__main__":
    main()
