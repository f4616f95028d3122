"""I made this for the night shift on our neonatal ward. Twelve cots have a breathing belt, and a small network looks at
the last minute of each belt and gives a risk of apnoea. What is usual differs from baby to baby, so the program follows
the usual risk of each cot slowly and calls us only if a baby is well above its own.

ticket: practice
class: none
"""

import os
import random
import time
from datetime import datetime

import torch
from torch import nn

COTS = ["A1", "A2", "A3", "A4", "B1", "B2", "B3", "B4", "C1", "C2", "C3", "C4"]
PER_SECOND = 10
MINUTE = 60 * PER_SECOND

torch.set_num_threads(1)
device = "cuda" if torch.cuda.is_available() else "cpu"

# The network came from our university hospital. It reads 600 numbers for each cot.
network = nn.Sequential(
    nn.Conv1d(1, 16, 9, padding=4), nn.ReLU(),
    nn.Conv1d(16, 32, 9, stride=2, padding=4), nn.ReLU(),
    nn.Conv1d(32, 32, 9, stride=2, padding=4), nn.ReLU(),
    nn.AdaptiveAvgPool1d(8), nn.Flatten(),
    nn.Linear(256, 1), nn.Sigmoid(),
).to(device)
network.eval()


def read_belts(belts, clock):
    """Moves the belts on by one second. A preterm baby breathes about 50 times a minute, and not regularly."""
    now = clock + torch.arange(PER_SECOND) / PER_SECOND
    for cot in range(len(COTS)):
        depth = 0.1 if random.random() < 0.03 else random.uniform(0.8, 1.2)
        breath = depth * torch.sin(2 * 3.1416 * (45 + cot) / 60 * now) + 0.05 * torch.randn(PER_SECOND)
        belts[cot] = torch.cat([belts[cot][PER_SECOND:], breath])


def call_nurse(cot, risk, usual):
    print(f"{datetime.now():%H:%M:%S} please look at cot {cot}: risk {risk:.3f}, usually {usual:.3f}", flush=True)


def main():
    belts = torch.zeros(len(COTS), MINUTE)
    for second in range(60):
        read_belts(belts, second)
    clock = 60
    usual = None
    calls = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        read_belts(belts, clock)
        clock += 1

        risk = network(belts.unsqueeze(1).to(device)).squeeze(1).detach()

        if usual is None:
            usual = risk
        usual = 0.98 * usual + 0.02 * risk

        above = (risk - usual).tolist()
        for cot in range(len(COTS)):
            if above[cot] > 0.02:
                call_nurse(COTS[cot], risk[cot].item(), usual[cot].item())
                calls += 1

        if clock % 20 == 0:
            print(f"second {clock}: usual risk {usual.mean().item():.4f}, {calls} calls so far", flush=True)
        time.sleep(0.12)


main()
