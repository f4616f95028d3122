"""Gait service of a racing stable's treadmill hall.

Every horse that is led onto a treadmill opens a visit. Its leg sensors send
packets of accelerations, which a small recurrent network turns into a stream
of gait features; the features of the visit are laid side by side so that the
trainer can ask at any moment how even the strides are. When the horse steps
down, the visit ends with an evenness score, and the next horse takes the
stall over.

ticket: practice
class: app-leak
holder: walkers
cause: sessions-kept entries-left
"""
import os
import random
import time

import torch
from torch import nn

CHANNELS = 24
FEATURES = 512
ROOM = 1024
STALLS = ["north 1", "north 2", "north 3", "south 1", "south 2", "south 3"]


class GaitReader(nn.Module):
    """Turns one packet and the state so far into features and the next state."""

    def __init__(self):
        super().__init__()
        self.entry = nn.Sequential(nn.Linear(CHANNELS, 256), nn.GELU(), nn.Linear(256, FEATURES))
        self.memory = nn.GRUCell(FEATURES, FEATURES)
        self.exit = nn.Linear(FEATURES, FEATURES)

    def forward(self, packet, state):
        lifted = self.entry(packet)
        state = self.memory(lifted.mean(dim=0, keepdim=True), state)
        return torch.tanh(self.exit(lifted) + state), state


class Visit:
    """One horse on one treadmill, from stepping up to stepping down."""

    def __init__(self, number, horse, device):
        self.number = number
        self.horse = horse
        self.state = torch.zeros(1, FEATURES, device=device)
        self.strides = torch.zeros(ROOM, FEATURES, device=device)  # grows
        self.filled = 0

    def add(self, features, state):
        self.state = state
        first = self.filled % ROOM
        count = min(len(features), ROOM - first)
        self.strides[first:first + count] = features[:count]
        self.filled += count

    def evenness(self):
        taken = self.strides[:max(2, min(self.filled, ROOM))]
        return float(1.0 / (1.0 + taken.std(dim=0).mean()))


class TreadmillDesk:
    """Knows who is on which treadmill and feeds the packets to the network."""

    def __init__(self, device):
        self.device = device
        self.reader = GaitReader().to(device).eval()
        self.occupied = {}
        self.walkers = {}
        self.counter = 0

    def step_up(self, stall, horse):
        self.counter += 1
        visit = Visit(self.counter, horse, self.device)
        self.occupied[stall] = visit.number
        self.walkers[stall, visit.number] = visit  # keeps
        return visit

    @torch.no_grad()
    def packet(self, stall, samples):
        visit = self.walkers[stall, self.occupied[stall]]
        features, state = self.reader(samples.to(self.device), visit.state)
        visit.add(features, state)

    def step_down(self, stall):
        number = self.occupied.pop(stall)
        visit = self.walkers[stall, number]
        score = visit.evenness()
        self.walkers.pop(stall, None)
        return visit.horse, score


def stride_packet(source, phase):
    """64 samples of the leg sensors, a trot with some noise."""
    at = torch.arange(64, dtype=torch.float32).unsqueeze(1) * 0.2 + phase
    legs = torch.arange(CHANNELS, dtype=torch.float32).unsqueeze(0)
    return torch.sin(at + legs * 0.7) + 0.1 * torch.randn(64, CHANNELS, generator=source)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(11)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    source = torch.Generator().manual_seed(5)
    picker = random.Random(5)
    horses = ["Amber", "Bracken", "Calypso", "Drummer", "Elsinore", "Falcon", "Ginger", "Harrier"]
    desk = TreadmillDesk(device)
    served = 0
    total = 0.0
    due = time.time()
    while time.time() < end:
        due += 0.5
        for stall in STALLS:
            desk.step_up(stall, picker.choice(horses))
        for turn in range(4):
            for stall in STALLS:
                desk.packet(stall, stride_packet(source, 0.8 * turn))
        for stall in STALLS:
            horse, score = desk.step_down(stall)
            served += 1
            total += score
        if served % 30 == 0:
            print(f"{served} visits served, last {horse}, mean evenness {total / served:.4f}", flush=True)
        time.sleep(max(0.0, due - time.time()))
    print(f"hall closed after {served} visits", flush=True)


if __name__ == "__main__":
    main()
