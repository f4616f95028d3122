"""The beat of a gull's wings is predicted from its height and the wind. The steps are so small that launching kernels
takes most of the time, so the whole step is captured as a CUDA graph and replayed. The learning rate, which falls bit
by bit, is part of what is captured, so that there is a graph for the rate in use.

ticket: practice
class: pool-growth
holder: steps Stepper stepper
cause: captured-graphs-kept cache-without-bound
"""

import os
import time

import torch
from torch import nn
from torch.nn import functional as F

INPUTS, WIDTH, BATCH = 64, 512, 768
RATE, FALL, FALL_EVERY = 0.05, 0.985, 30


class Stepper:
    def __init__(self, model, device):
        self.model, self.device = model, device
        self.params = list(model.parameters())
        self.winds = torch.zeros(BATCH, INPUTS, device=device)
        self.beats = torch.zeros(BATCH, 1, device=device)
        self.steps = {}
        if device == "cuda":
            self.warm_up()

    def update(self, rate):
        loss = F.mse_loss(self.model(self.winds), self.beats)
        slopes = torch.autograd.grad(loss, self.params)
        with torch.no_grad():
            for param, slope in zip(self.params, slopes):
                param.sub_(rate * slope)
        return loss.detach()

    def warm_up(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.update(0.0)
        torch.cuda.current_stream().wait_stream(side)

    def capture(self, rate):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = self.update(rate)  # grows
        return graph, loss

    def step(self, winds, beats, rate):
        self.winds.copy_(winds)
        self.beats.copy_(beats)
        if self.device == "cpu":
            return self.update(rate)
        if rate not in self.steps:
            self.steps[rate] = self.capture(rate)  # keeps
        graph, loss = self.steps[rate]
        graph.replay()
        return loss


def flight():
    winds = torch.randn(BATCH, INPUTS)
    return winds, torch.sin(winds[:, :4].sum(1, keepdim=True))


def main():
    torch.manual_seed(9)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Sequential(
        nn.Linear(INPUTS, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, 1)
    ).to(device)
    stepper, done = Stepper(model, device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        rate = RATE * FALL ** (done // FALL_EVERY)
        loss = stepper.step(*flight(), rate)
        done += 1
        if done % 20 == 0:
            print(f"step {done}: loss {loss.item():.4f} at rate {rate:.5f}", flush=True)
        time.sleep(0.05)


if __name__ == "__main__":
    main()
