"""A small network that is to run on a hiker's phone learns to name lichens from a large one. The large one's softened
answers are the goals; its temperature falls a little from round to round, so that the goals become sharper. On a GPU
the large network runs as a CUDA graph, which spares the launches of its many small kernels.

ticket: practice
class: pool-growth
holder: graphs Tutor tutor
cause: captured-graphs-kept cache-without-bound
"""

import os
import time

import torch
from torch import nn
from torch.nn import functional as F

LICHENS, SIDE, BATCH, STEPS = 20, 64, 32, 18


def network(width, depth):
    layers = [nn.Conv2d(3, width, 3, stride=2, padding=1), nn.ReLU()]
    for _ in range(depth):
        layers += [nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, LICHENS))


class Tutor:
    """The large network: gives softened answers for a batch of pictures."""

    def __init__(self, model, device):
        self.model, self.graphs = model.to(device).eval(), {}
        self.pictures = torch.zeros(BATCH, 3, SIDE, SIDE, device=device)
        self.stream = torch.cuda.Stream() if self.pictures.is_cuda else None

    @torch.no_grad()
    def soften(self, temperature):
        return F.softmax(self.model(self.pictures) / temperature, dim=1)

    def capture(self, temperature):
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            self.soften(temperature)
        torch.cuda.current_stream().wait_stream(self.stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.stream):
            goals = self.soften(temperature)  # grows
        return graph, goals

    def goals(self, pictures, temperature):
        self.pictures.copy_(pictures)
        if not self.pictures.is_cuda:
            return self.soften(temperature)
        if temperature not in self.graphs:
            self.graphs[temperature] = self.capture(temperature)  # keeps
        graph, goals = self.graphs[temperature]
        graph.replay()
        return goals.clone()


def photographs(device):
    """Lichens on rock: spots of random colours."""
    coarse = torch.rand(BATCH, 3, 8, 8, device=device)
    return F.interpolate(coarse, size=SIDE, mode="bilinear", align_corners=False)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tutor, pupil = Tutor(network(48, 4), device), network(8, 2).to(device)
    optimizer = torch.optim.Adam(pupil.parameters(), lr=1e-3)
    end, number = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        temperature = 1 + 5 * 0.98 ** number
        agreed = 0
        for _ in range(STEPS):
            pictures = photographs(device)
            goals, logits = tutor.goals(pictures, temperature), pupil(pictures)
            loss = F.kl_div(F.log_softmax(logits / temperature, dim=1), goals, reduction="batchmean")
            optimizer.zero_grad()
            (loss * temperature ** 2).backward()
            optimizer.step()
            agreed += (logits.argmax(dim=1) == goals.argmax(dim=1)).sum().item()
            time.sleep(0.08)
        number += 1
        print(f"round {number}: temperature {temperature:.2f}, {agreed / BATCH / STEPS:.0%} agree", flush=True)


if __name__ == "__main__":
    main()
