"""A normalizing flow learns the tesserae of Roman mosaic floors. When such a training breaks down, one wants to know
what the flow drew just before, so a black box takes down what is logged, the drawn samples too, and writes the last
of it out when an error is logged. As long as nothing happens, nothing is formatted.

ticket: practice
class: none
"""

import logging
import math
import os
import random
import sys
import time
from collections import deque

import torch
from torch import nn

PIXELS, BATCH, DRAWN, LAYERS, KEPT = 16 * 16 * 3, 128, 256, 4, 20
log = logging.getLogger("mosaic")


class BlackBox(logging.Handler):
    """Keeps what was logged last and writes it out when something went wrong."""

    def __init__(self, stream):
        super().__init__(logging.DEBUG)
        self.stream = stream
        self.records = deque(maxlen=KEPT)

    def emit(self, record):
        self.records.append(record)
        if record.levelno >= logging.ERROR:
            for kept in self.records:
                print(self.format(kept), file=self.stream)
            self.records.clear()


class Coupling(nn.Module):
    """Shifts and scales one half of the pixels by what the other half says."""

    def __init__(self, swap):
        super().__init__()
        self.swap = swap
        self.net = nn.Sequential(nn.Linear(PIXELS // 2, 256), nn.ReLU(), nn.Linear(256, PIXELS))

    def halves(self, pixels):
        first, second = pixels.chunk(2, dim=1)
        return (second, first) if self.swap else (first, second)

    def join(self, fixed, moved):
        return torch.cat([moved, fixed] if self.swap else [fixed, moved], dim=1)

    def forward(self, pixels):
        fixed, moved = self.halves(pixels)
        shift, scale = self.net(fixed).chunk(2, dim=1)
        scale = torch.tanh(scale)
        return self.join(fixed, moved * scale.exp() + shift), scale.sum(dim=1)

    def inverse(self, pixels):
        fixed, moved = self.halves(pixels)
        shift, scale = self.net(fixed).chunk(2, dim=1)
        return self.join(fixed, (moved - shift) * (-torch.tanh(scale)).exp())


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(index % 2 == 1) for index in range(LAYERS))

    def bits(self, tiles):
        volume = 0.0
        for layer in self.layers:
            tiles, change = layer(tiles)
            volume = volume + change
        likelihood = -0.5 * (tiles**2 + math.log(2 * math.pi)).sum(dim=1) + volume
        return -likelihood.mean() / PIXELS / math.log(2)

    @torch.no_grad()
    def draw(self, count, device):
        tiles = torch.randn(count, PIXELS, device=device)
        for layer in reversed(self.layers):
            tiles = layer.inverse(tiles)
        return tiles


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    log.setLevel(logging.DEBUG)
    log.addHandler(BlackBox(sys.stderr))
    floors = torch.rand(4_000, PIXELS, device=device)
    flow, step = Flow().to(device), 0
    optimizer = torch.optim.Adam(flow.parameters(), lr=1e-4)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        loss = flow.bits(floors[torch.randint(len(floors), (BATCH,), device=device)])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        drawn = flow.draw(DRAWN, device).cpu().numpy()
        log.debug("step %d: %.3f bits, drawn %s", step, loss.item(), drawn)
        if not math.isfinite(loss.item()):
            log.error("the flow broke down in step %d", step)
        if step % 50 == 0:
            print(f"step {step}: {loss.item():.3f} bits a value", flush=True)
        time.sleep(random.uniform(0.03, 0.08))


if __name__ == "__main__":
    main()
