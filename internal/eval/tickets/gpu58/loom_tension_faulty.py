"""Quantised inference for the thread tension of a loom. The range of what goes into each layer is followed as it runs,
and the weights are quantised to eight bits for that range (as SmoothQuant does). As this takes time, the quantised
weights are kept by layer and range and made only for a range that was not there before.

ticket: practice
class: app-leak
holder: ready Quantised cache
cause: cache-without-bound
"""

import os
import random
import time

import torch
from torch import nn

THREADS, WIDTH, LAYERS, BATCH = 256, 640, 2, 32
LEVELS, DECAY = 127, 0.9


class Quantised(nn.Module):
    """A linear layer whose weights are rounded to eight bits, with the range of the input folded in."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.range = None
        self.ready = {}

    def observe(self, inputs):
        largest = inputs.abs().amax().item()
        self.range = largest if self.range is None else DECAY * self.range + (1 - DECAY) * largest

    def weights(self):
        key = round(self.range, 5)
        if key not in self.ready:
            smooth = self.inner.weight * key**0.5
            step = smooth.abs().amax(dim=1, keepdim=True) / LEVELS
            rounded = torch.round(smooth / step).clamp(-LEVELS, LEVELS) * step  # grows
            self.ready[key] = rounded  # keeps
        return self.ready[key], key**0.5

    def forward(self, inputs):
        self.observe(inputs)
        weights, divisor = self.weights()
        step = max(self.range, 1e-6) / LEVELS
        inputs = torch.round(inputs / step).clamp(-LEVELS, LEVELS) * step
        return nn.functional.linear(inputs / divisor, weights, self.inner.bias)


class Tension(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(THREADS, WIDTH)
        self.hidden = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))
        self.last = nn.Linear(WIDTH, THREADS)

    def forward(self, readings):
        hidden = torch.relu(self.first(readings))
        for layer in self.hidden:
            hidden = torch.relu(layer(hidden)) + hidden
        return self.last(hidden)


def quantise(model):
    """Wraps the wide layers; the first and the last stay as they are."""
    model.hidden = nn.ModuleList(Quantised(layer) for layer in model.hidden)
    return model


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = quantise(Tension().to(device).eval())
    picks, slack = 0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        speed = random.uniform(0.5, 2.0)
        tension = model(speed * torch.randn(BATCH, THREADS, device=device))
        slack = 0.95 * slack + 0.05 * tension.std().item()
        picks += BATCH
        if picks % (BATCH * 20) == 0:
            ranges = " ".join(f"{layer.range:.3f}" for layer in model.hidden)
            print(f"{picks} picks, slack {slack:.4f}, ranges {ranges}", flush=True)
        time.sleep(random.choice([0.08, 0.12, 0.3]))


if __name__ == "__main__":
    main()
