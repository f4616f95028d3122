"""Sand runs through an hourglass: grains are discs that push each other apart and slide down the glass. Each pour has
another number of grains and is followed for a while. A step is many small kernels, so it is captured as a CUDA graph
once, for the most grains, and replayed after that; grains that are missing are parked far away. Without a GPU it just
runs.

ticket: practice
class: none
"""

import os
import random
import time

import torch

FEWEST, MOST, STEPS = 700, 1500, 20
RADIUS, DT, NECK = 0.01, 2e-3, 0.05


def advance(places, speeds):
    """One step of all grains: contacts, gravity and the walls."""
    gaps = places[:, None] - places[None]
    apart = gaps.square().sum(dim=-1).add(1e-9).sqrt()
    overlap = (2 * RADIUS - apart).clamp(min=0)
    push = (gaps * (overlap / apart).unsqueeze(-1)).sum(dim=1)
    slip = (speeds[:, None] - speeds[None]) * (overlap > 0).unsqueeze(-1)
    drag = slip.sum(dim=1)
    wall = NECK + places[:, 1:].abs()
    back = torch.cat([-places[:, :1].sign() * (places[:, :1].abs() - wall).clamp(min=0), 0 * wall], dim=1)
    speeds = speeds + DT * (2e4 * push - 5 * drag + 2e3 * back)
    speeds[:, 1] -= DT * 9.81
    speeds = speeds.clamp(-3, 3)
    return places + DT * speeds, speeds


class Glass:
    """Replays the step that was captured for the most grains."""

    def __init__(self, device):
        self.device = device
        self.captured = None
        row = torch.arange(MOST, device=device)
        self.parking = torch.stack([100 + row, 100 + row], dim=1).float()

    def capture(self, count):
        places, speeds = torch.zeros(2, count, 2, device=self.device).unbind()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            advance(places, speeds)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            after = advance(places, speeds)
        self.captured = graph, (places, speeds), after

    def run(self, places, speeds, steps):
        if self.device == "cpu":
            for _ in range(steps):
                places, speeds = advance(places, speeds)
            return places, speeds
        count = len(places)
        if self.captured is None:
            self.capture(MOST)
        graph, before, after = self.captured
        before[0].copy_(torch.cat([places, self.parking[count:]]))
        before[1].zero_()[:count].copy_(speeds)
        for _ in range(steps):
            graph.replay()
            before[0].copy_(after[0])
            before[1].copy_(after[1])
        return before[0][:count].clone(), before[1][:count].clone()


def pour(device):
    """A random number of grains in the upper half, at rest."""
    grains = random.randint(FEWEST, MOST)
    places = torch.rand(grains, 2, device=device) * torch.tensor([1.0, 0.6], device=device)
    return places - torch.tensor([0.5, -0.3], device=device), torch.zeros(grains, 2, device=device)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    glass, pours = Glass(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        places, speeds = pour(device)
        for _ in range(random.randint(5, 8)):
            places, speeds = glass.run(places, speeds, STEPS)
            time.sleep(0.15)
            if time.time() > end:
                break
        pours += 1
        if pours % 3 == 1:
            through = (places[:, 1] < 0).float().mean().item()
            print(f"pour {pours}: {len(places)} grains, {100 * through:.1f}% through the neck", flush=True)


if __name__ == "__main__":
    main()
