"""Tells the crops on a farm's parcels from satellite pictures of several dates. A parcel's cutout is as large as the
parcel; the network is small, so that starting its kernels takes longer than they run, and therefore it is captured as a
CUDA graph, which is replayed for each date.

ticket: practice
class: pool-growth
holder: graphs Runner runner CUDAGraph
cause: captured-graphs-kept cache-without-bound
"""

import os
import random
import time

import torch
from torch import nn

BANDS, CROPS, DATES = 4, 6, 6
SMALLEST, LARGEST = 96, 192


class CropNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(BANDS, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, CROPS, 1),
        )

    def forward(self, picture):
        return self.layers(picture).softmax(dim=1)


class Runner:
    """Runs the network by a captured graph for the picture's shape (on the CPU without one)."""

    def __init__(self, model, device):
        self.model, self.device = model, device
        self.graphs = {}

    @torch.no_grad()
    def capture(self, height, width):
        picture = torch.zeros(1, BANDS, height, width, device=self.device)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                self.model(picture)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            crops = self.model(picture)  # grows
        return graph, picture, crops

    @torch.no_grad()
    def __call__(self, cutout):
        if self.device == "cpu":
            return self.model(cutout)
        height, width = cutout.shape[2:]
        if (height, width) not in self.graphs:
            self.graphs[height, width] = self.capture(height, width)  # keeps
        graph, picture, crops = self.graphs[height, width]
        picture.copy_(cutout)
        graph.replay()
        return crops


def cutouts():
    """A parcel on several dates: it gets greener and then is mown."""
    height, width = random.randint(SMALLEST, LARGEST), random.randint(SMALLEST, LARGEST)
    soil = torch.rand(1, BANDS, height, width)
    for date in range(DATES):
        green = torch.zeros(1, BANDS, 1, 1)
        green[0, 1] = date / DATES if date < DATES - 1 else 0.1
        yield 0.7 * soil + green


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    runner, parcels = Runner(CropNet().to(device).eval(), device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        shares = torch.zeros(CROPS)
        for cutout in cutouts():
            shares += runner(cutout.to(device)).mean(dim=(0, 2, 3)).cpu() / DATES
            time.sleep(0.15)
        parcels += 1
        if parcels % 3 == 0:
            crop = int(shares.argmax())
            print(f"parcel {parcels}: crop {crop} on {shares[crop].item():.2f} of it", flush=True)


if __name__ == "__main__":
    main()
