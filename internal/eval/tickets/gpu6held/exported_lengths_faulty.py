"""Customers get a program of the model for the length of their signals: it is exported for the exact length and kept
with its graph for the next request. Nearly every customer has a length of its own.

ticket: practice
class: host-growth
holder: programs
cause: per-shape-compile-cache compiled-functions-kept compile-cache cache-without-bound
"""

import logging
import os
import random
import time

import torch
from torch import nn

log = logging.getLogger("programs")
SIZES = (512, 1024, 2048)


class Denoiser(nn.Module):
    def __init__(self, layers=10, width=16):
        super().__init__()
        self.start = nn.Conv1d(1, width, 5, padding=2)
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Conv1d(width, width, 3, padding=2 ** (i % 4), dilation=2 ** (i % 4)), nn.GELU(),
                          nn.Conv1d(width, width, 1)) for i in range(layers))
        self.end = nn.Conv1d(width, 1, 1)

    def forward(self, signal):
        x = self.start(signal)
        for layer in self.layers:
            x = x + layer(x)
        return signal - self.end(x)


class Service:
    def __init__(self, device):
        self.device, self.model = device, Denoiser().to(device).eval()
        self.programs, self.requests = {}, 0

    def size(self, length):
        return length

    def program(self, size):
        if size not in self.programs:
            example = torch.zeros(1, 1, size, device=self.device)
            exported = torch.export.export(self.model, (example,))  # grows
            self.programs[size] = exported, exported.module()  # keeps
        return self.programs[size][1]

    @torch.no_grad()
    def denoise(self, signal):
        size = self.size(len(signal))
        padded = torch.zeros(1, 1, size)
        padded[0, 0, :len(signal)] = signal
        clean = self.program(size)(padded.to(self.device))
        self.requests += 1
        return clean[0, 0, :len(signal)].cpu()


def customers(end):
    lengths = [random.randint(200, 2048) for _ in range(600)]
    while time.time() < end:
        length = random.choice(lengths)
        for _ in range(random.randint(1, 4)):
            yield torch.sin(torch.arange(length) / random.uniform(3, 30)) + 0.3 * torch.randn(length)
            time.sleep(random.uniform(0.05, 0.3))


def main():
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    service = Service("cuda" if torch.cuda.is_available() else "cpu")
    for signal in customers(end):
        service.denoise(signal)
        if service.requests % 20 == 0:
            log.info("%d requests, %d programs", service.requests, len(service.programs))


if __name__ == "__main__":
    main()
