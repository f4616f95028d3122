"""Patterns for kimonos are drawn by a denoiser whose look comes from a small adapter. Each customer brings an adapter
of their own, and their patterns are drawn with it. The step of the denoiser is short, so on the GPU it is captured as
a graph and replayed; an adapter is written over the one before.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

SIDE, WIDTH, RANK, STEPS, LAYERS = 96, 48, 8, 10, 3


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Conv2d(3, WIDTH, 3, padding=1)
        self.layers = nn.ModuleList(nn.Conv2d(WIDTH, WIDTH, 3, padding=1) for _ in range(LAYERS))
        self.leave = nn.Conv2d(WIDTH, 3, 3, padding=1)

    def forward(self, image, adapter):
        hidden = F.silu(self.enter(image))
        for layer, (down, up) in zip(self.layers, adapter):
            hidden = hidden + F.silu(layer(hidden) + F.conv2d(F.conv2d(hidden, down), up))
        return self.leave(hidden)


class Painter:
    def __init__(self, device):
        self.device = device
        self.model = Denoiser().to(device).eval()
        self.image = torch.zeros(1, 3, SIDE, SIDE, device=device)
        self.side_stream = torch.cuda.Stream() if device == "cuda" else None
        self.adapter = [(down.to(device), up.to(device)) for down, up in bring()]
        self.step = None

    def denoise(self, adapter):
        self.image.sub_(0.1 * self.model(self.image, adapter)).clamp_(-3, 3)

    def capture(self, adapter):
        """A function that takes one step with this adapter."""
        if self.device == "cpu":
            return lambda: self.denoise(adapter)
        self.side_stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side_stream):
            for _ in range(2):
                self.denoise(adapter)
        torch.cuda.current_stream().wait_stream(self.side_stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.denoise(adapter)
        return graph.replay

    def wear(self, weights):
        for (down, up), (new_down, new_up) in zip(self.adapter, weights):
            down.copy_(new_down)
            up.copy_(new_up)
        if self.step is None:
            self.step = self.capture(self.adapter)

    def draw(self, weights):
        self.wear(weights)
        self.image.normal_()
        for _ in range(STEPS):
            self.step()
        return self.image.clone()


def bring():
    """The weights of an adapter, as they come from its file."""
    return [(0.1 * torch.randn(RANK, WIDTH, 1, 1), 0.1 * torch.randn(WIDTH, RANK, 1, 1)) for _ in range(LAYERS)]


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    painter, customer = Painter(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        customer += 1
        weights = bring()
        for _ in range(random.randint(2, 5)):
            pattern = painter.draw(weights)
            time.sleep(random.uniform(0.15, 0.35))
        if customer % 5 == 0:
            print(f"{customer} customers, the last pattern varies by {pattern.std().item():.2f}", flush=True)


if __name__ == "__main__":
    main()
