"""A renderer of puppet films: each clip is cut out of the reel in a size of its own, and a small network takes the
strings out of its frames. The network is many small kernels, so on the device its launch is recorded as a CUDA graph
once for each size, and replayed for each frame of the clips of that size.

ticket: practice
class: pool-growth
holder: graphs Eraser
cause: captured-graphs-kept cache-without-bound
"""

import os
import random
import time

import torch
from torch import nn

SMALLEST, LARGEST, WIDTH = 192, 384, 8


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, WIDTH, 3, padding=1)
        self.middle = nn.ModuleList(nn.Conv2d(WIDTH, WIDTH, 3, padding=1) for _ in range(4))
        self.last = nn.Conv2d(WIDTH, 3, 3, padding=1)

    def forward(self, frame):
        hidden = torch.relu(self.first(frame))
        for layer in self.middle:
            hidden = hidden + torch.relu(layer(hidden))
        return (frame + self.last(hidden)).clamp(0, 1)


class Eraser:
    """Runs the network, by a graph where there is a device for that."""

    def __init__(self, device):
        self.device = device
        self.net = Net().to(device).eval()
        self.graphs = {}
        self.side = torch.cuda.Stream() if device == "cuda" else None

    def record(self, shape):
        frame = torch.zeros(shape, device=self.device)
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            for _ in range(2):
                self.net(frame)
        torch.cuda.current_stream().wait_stream(self.side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            clean = self.net(frame)  # grows
        self.graphs[shape] = graph, frame, clean  # keeps

    def erase(self, frame):
        shape = tuple(frame.shape)
        if self.device == "cpu":
            return self.net(frame)
        if shape not in self.graphs:
            self.record(shape)
        graph, place, clean = self.graphs[shape]
        place.copy_(frame)
        graph.replay()
        return clean


def clip():
    """The frames of a clip: a puppet that sways before a grey wall, on two strings."""
    height, width = (2 * random.randint(SMALLEST // 2, LARGEST // 2) for _ in range(2))
    for number in range(random.randint(4, 8)):
        frame = torch.full((1, 3, height, width), 0.6)
        left = width // 3 + 2 * number
        frame[..., height // 2:, left:left + 60] = torch.tensor([0.8, 0.3, 0.2])[:, None, None]
        frame[..., :height // 2, [left + 10, left + 50]] = 0.1
        yield frame


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    eraser = Eraser("cuda" if torch.cuda.is_available() else "cpu")
    clips, frames = 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for frame in clip():
            height, width = frame.shape[-2:]
            clean = eraser.erase(frame.to(eraser.device))
            light = clean.mean().item()
            frames += 1
            time.sleep(0.1)
        clips += 1
        if clips % 8 == 0:
            print(f"{clips} clips, {frames} frames, the last {width}x{height}, light {light:.3f}", flush=True)
        time.sleep(random.uniform(0.2, 0.6))


if __name__ == "__main__":
    main()
