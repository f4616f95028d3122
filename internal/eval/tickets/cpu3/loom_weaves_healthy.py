"""Trains a small network to tell weaves of cloth apart. After every chapter of training its author wants to know how
far the layers have drifted since the chapter before: a forward hook on each layer compares what comes out of it for a
fixed batch with the reference that was taken last.

ticket: practice
class: none
"""

import os
import random
import time
from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

SIZE, WEAVES, BATCH, PROBES = 24, 4, 32, 128


def cloth(number):
    """Pictures of cloth, and the weave of each: threads cross with a period that belongs to the weave."""
    weaves = torch.randint(WEAVES, (number,))
    period = (weaves + 2).float()[:, None, None]
    down, across = torch.arange(SIZE)[:, None], torch.arange(SIZE)
    threads = torch.sin(6.28 * (down + across) / period) * torch.cos(6.28 * (down - across) / period)
    return (threads + 0.5 * torch.randn(number, SIZE, SIZE))[:, None], weaves


def network():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * (SIZE // 4) ** 2, WEAVES),
    )


class DriftWatch:
    """How alike the layers' outputs for the probes are to those at the last call of renew."""

    def __init__(self, model, probes):
        self.model, self.probes = model, probes
        self.layers = {name: layer for name, layer in model.named_children() if list(layer.parameters())}
        self.likeness, self.handles = {}, []

    def compare(self, name, reference, layer, inputs, output):
        if not layer.training:
            self.likeness[name] = F.cosine_similarity(output.flatten(1), reference.flatten(1)).mean().item()

    @torch.no_grad()
    def renew(self):
        while self.handles:
            self.handles.pop().remove()
        hidden = self.probes
        for name, layer in self.model.named_children():
            hidden = layer(hidden)
            if name in self.layers:
                handle = layer.register_forward_hook(partial(self.compare, name, hidden))
                self.handles.append(handle)

    @torch.no_grad()
    def measure(self):
        self.model.eval()
        self.model(self.probes)
        self.model.train()
        return ", ".join(f"layer {name} {value:.3f}" for name, value in sorted(self.likeness.items()))


def main():
    torch.set_num_threads(1)
    model = network()
    watch = DriftWatch(model, cloth(PROBES)[0])
    optimizer, chapter = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        watch.renew()
        for _ in range(4):
            pictures, weaves = cloth(BATCH)
            loss = F.cross_entropy(model(pictures), weaves)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(random.uniform(0.02, 0.1))
        chapter += 1
        print(f"chapter {chapter}: loss {loss.item():.3f}; likeness {watch.measure()}", flush=True)


if __name__ == "__main__":
    main()
