"""A drone flies over stony slopes, and a network finds the lichen in its pictures and says how sure it is. Each flight
is cut into patches of a size that suits its height. As the patches are small and the network's kernels are short, the
network is captured as a CUDA graph for the largest size and replayed; smaller patches are padded.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

BANDS, WIDTH, LOW, HIGH = 4, 16, 90, 200


class LichenNet(nn.Module):
    """Gives each pixel the log odds of lichen and the log of their variance."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(BANDS, WIDTH, 3, padding=1), nn.ReLU(),
            nn.Conv2d(WIDTH, WIDTH, 3, padding=2, dilation=2), nn.ReLU(),
            nn.Conv2d(WIDTH, WIDTH, 3, padding=4, dilation=4), nn.ReLU(),
            nn.Conv2d(WIDTH, 2, 1),
        )

    def forward(self, patch):
        return self.layers(patch)


class Replayer:
    """Replays a network's CUDA graph. Without CUDA it just calls the network."""

    def __init__(self, model):
        self.model, self.graphs = model, {}
        self.side = torch.cuda.Stream() if torch.cuda.is_available() else None

    def capture(self, patch):
        entry = patch.clone()
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            for _ in range(3):
                self.model(entry)
        torch.cuda.current_stream().wait_stream(self.side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = self.model(entry)
        return graph, entry, result

    @torch.no_grad()
    def __call__(self, patch):
        if self.side is None:
            return self.model(patch)
        height, width = patch.shape[2:]
        patch = F.pad(patch, (0, HIGH - width, 0, HIGH - height))
        if patch.shape not in self.graphs:
            self.graphs[patch.shape] = self.capture(patch)
        graph, entry, result = self.graphs[patch.shape]
        entry.copy_(patch)
        graph.replay()
        return result[:, :, :height, :width].clone()


def flight(device):
    """The patches of one flight, all of the same size."""
    height, width = random.randint(LOW, HIGH), random.randint(LOW, HIGH)
    for _ in range(random.randint(3, 8)):
        yield torch.rand(1, BANDS, height, width).to(device)


def look(replayer, patch):
    """The share of lichen in a patch and the mean doubt about it."""
    odds, spread = replayer(patch)[0]
    return (odds > 0).float().mean().item(), spread.exp().sqrt().mean().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    replayer, flights = Replayer(LichenNet().to(device).eval()), 0
    while time.time() < end:
        for patch in flight(device):
            share, doubt = look(replayer, patch)
            time.sleep(random.uniform(0.05, 0.15))
        flights += 1
        if flights % 5 == 0:
            print(f"flight {flights}: lichen {share:.2f}, doubt {doubt:.2f}", flush=True)
        time.sleep(random.uniform(0.2, 0.6))


if __name__ == "__main__":
    main()
