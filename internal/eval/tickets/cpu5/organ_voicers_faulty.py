"""Voicing plans for the ranks of a pipe organ.

A voicer cuts mouths and bends languids until a rank sounds even from pipe to pipe. A shared
network holds what is common to all pipes (length, scale, wind pressure to a description of the
sound), and for every rank of the organ a head of its own is fitted with Adam, for some steps on
measurements of this rank; its settings then go to the workshop as a short plan of cut-ups and
toe holes. Then comes the next rank, while the shared part goes on learning with a low rate.

ticket: practice
class: host-growth
holder: param_groups state
cause: optimizer-groups-added
"""
import math
import os
import time

import torch
import torch.nn.functional as F
from torch import nn

STEPS_PER_RANK = 8
STEPS_A_SECOND = 10
PIPES = 61
STOPS = ("Principal 8", "Gedackt 8", "Octave 4", "Nazard 2 2/3", "Gemshorn 8", "Trumpet 8")


class SharedBody(nn.Module):
    def __init__(self, width=384):
        super().__init__()
        self.enter = nn.Linear(6, 128)
        self.leave = nn.Linear(128, width)

    def forward(self, pipes):
        return torch.tanh(self.leave(F.gelu(self.enter(pipes))))


def rank_head(width=384, hidden=768, partials=128):
    """From the shared description to the strengths of the partials of one rank."""
    return nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, partials))  # grows


class Rank:
    """Measurements of the pipes of one stop, made up from a simple law of scaling."""

    def __init__(self, number, partials=128):
        self.name = STOPS[number % len(STOPS)]
        source = torch.Generator().manual_seed(number)
        semitone = torch.arange(PIPES) / 12
        length = 2.4 * torch.pow(2.0, -semitone)
        diameter = 0.14 * torch.pow(2.0, -0.75 * semitone)
        wind = 0.07 + 0.02 * torch.rand(PIPES, generator=source)
        mouth = 0.25 + 0.03 * torch.randn(PIPES, generator=source)
        cut_up = 0.28 + 0.05 * torch.randn(PIPES, generator=source)
        self.pipes = torch.stack([length, diameter, wind * 10, mouth, cut_up, semitone / 5], dim=1)
        order = torch.arange(1, partials + 1)
        slope = 0.03 + 0.05 * (number % len(STOPS)) / len(STOPS)
        ideal = torch.exp(-slope * order)[None, :] * (0.5 + mouth[:, None])
        self.sound = ideal + 0.01 * torch.randn(PIPES, partials, generator=source)


class Voicer:
    def __init__(self):
        torch.manual_seed(8)
        self.body = SharedBody()
        self.optimizer = torch.optim.Adam(self.body.parameters(), lr=2e-4)
        self.plans = {}

    def begin(self, rank):
        head = rank_head()
        self.optimizer.add_param_group({"params": list(head.parameters()), "lr": 2e-3})  # keeps
        return head

    def step(self, rank, head):
        some = torch.randperm(PIPES)[:20]
        loss = F.mse_loss(head(self.body(rank.pipes[some])), rank.sound[some])
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()  # grows keeps
        return loss.item()

    def finish(self, rank, head):
        with torch.no_grad():
            sound = head(self.body(rank.pipes))
        brightness = sound[:, 8:].sum(dim=1) / sound.abs().sum(dim=1)
        uneven = brightness.diff().abs()
        self.plans[rank.name] = [int(pipe) for pipe in uneven.topk(5).indices]


def ranks():
    number = 0
    while True:
        yield Rank(number)
        number += 1


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    voicer = Voicer()
    started, steps = time.time(), 0
    for done, rank in enumerate(ranks()):
        head = voicer.begin(rank)
        loss = math.nan
        for _ in range(STEPS_PER_RANK):
            loss = voicer.step(rank, head)
            steps += 1
            time.sleep(max(0.0, started + steps / STEPS_A_SECOND - time.time()))
        voicer.finish(rank, head)
        if done % 4 == 3:
            print(f"rank {done + 1} ({rank.name}): loss {loss:.5f}, pipes to see to "
                  f"{voicer.plans[rank.name]}", flush=True)
        if time.time() >= end:
            return


if __name__ == "__main__":
    main()
