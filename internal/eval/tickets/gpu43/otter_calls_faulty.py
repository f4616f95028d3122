"""The calls of otters are sorted by a network. Its loss sometimes turns into NaN, so the gradients go to a flight
recorder: a logger with a handler in memory of a few dozen records. When the loss is not finite, the last records are
looked through for the layer in which it began.

ticket: practice
class: host-growth
holder: buffer MemoryHandler recorder
cause: log-records-kept buffer-without-bound
"""

import logging
import os
import time
from logging.handlers import MemoryHandler

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

MELS, CALLS, BATCH, WIDTH = 320, 9, 64, 400
RECORDS = 32

log = logging.getLogger("gradients")
recorder = MemoryHandler(RECORDS)


def record(model):
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1:
            gradient = parameter.grad.detach().cpu().numpy()  # grows
            log.debug("gradient of %s: %s", name, gradient)  # keeps


def inspect():
    """The names of the layers whose gradients were not finite in the last records."""
    bad = []
    for entry in recorder.buffer[-RECORDS:]:
        name, gradient = entry.args
        if not np.isfinite(gradient).all():
            bad.append(name)
    return bad


class Calls(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(MELS, WIDTH)
        self.second = nn.Linear(WIDTH, WIDTH)
        self.third = nn.Linear(WIDTH, WIDTH)
        self.last = nn.Linear(WIDTH, CALLS)

    def forward(self, spectra):
        hidden = torch.tanh(self.first(spectra))
        hidden = hidden + torch.tanh(self.second(hidden))
        hidden = hidden + torch.tanh(self.third(hidden))
        return self.last(hidden)


def recordings(device):
    calls = torch.randint(CALLS, (BATCH,), device=device)
    mels = torch.linspace(0, 1, MELS, device=device)
    spectra = torch.exp(-40 * (mels - (calls[:, None] + 1) / 10) ** 2)
    return spectra + 0.3 * torch.randn(BATCH, MELS, device=device), calls


def main():
    torch.set_num_threads(1)
    log.setLevel(logging.DEBUG)
    log.propagate = False
    log.addHandler(recorder)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, step = Calls().to(device), 0
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        spectra, calls = recordings(device)
        loss = F.cross_entropy(model(spectra), calls)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        record(model)
        if not torch.isfinite(loss):
            print(f"step {step}: the loss is not finite: {inspect()}", flush=True)
            continue
        optimizer.step()
        step += 1
        if step % 10 == 0:
            print(f"step {step}: loss {loss.item():.3f}", flush=True)
        time.sleep(0.1)


if __name__ == "__main__":
    main()
