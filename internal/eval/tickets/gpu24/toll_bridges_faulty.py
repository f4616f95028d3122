"""Foretells the traffic on toll bridges, one bridge after another, with one network that goes on learning. Whenever a
bridge is done the weights go to cloud storage. A thread of its own uploads them, so that training does not wait for
the network.

ticket: practice
class: host-growth
holder: waiting Uploader queue
cause: unbounded-queue snapshots-kept
"""

import io
import os
import queue
import random
import threading
import time

import torch
from torch import nn
from torch.nn import functional as F

BRIDGES, SLOTS, WIDTH, BATCH = 40, 96, 1024, 32
STEPS_PER_BRIDGE, LINE = 6, 3_000_000


class Bucket:
    """Stands for the cloud storage: it takes LINE bytes a second and replaces what has the same name."""

    def __init__(self):
        self.sizes = {}

    def put(self, name, body):
        time.sleep(len(body) / LINE)
        self.sizes[name] = len(body)


class Uploader(threading.Thread):
    def __init__(self, bucket):
        super().__init__(daemon=True)
        self.bucket, self.done = bucket, 0
        self.waiting = queue.Queue()
        self.start()

    def upload(self, name, state):
        self.waiting.put((name, state))  # keeps

    def run(self):
        while True:
            name, state = self.waiting.get()
            body = io.BytesIO()
            torch.save(state, body)
            del state
            self.bucket.put(name, body.getvalue())
            self.done += 1


class Traffic(nn.Module):
    def __init__(self):
        super().__init__()
        self.bridges = nn.Embedding(BRIDGES, 64)
        self.layers = nn.Sequential(
            nn.Linear(64 + SLOTS, WIDTH), nn.SiLU(), nn.Linear(WIDTH, WIDTH), nn.SiLU(), nn.Linear(WIDTH, SLOTS)
        )

    def forward(self, bridges, yesterday):
        return self.layers(torch.cat([self.bridges(bridges), yesterday], dim=1))


def days(bridge, device):
    """Counts of cars on some days at this bridge, and on the days after."""
    rush = torch.sin(torch.arange(SLOTS, device=device) / (4 + bridge % 7))
    yesterday = rush + 0.2 * torch.randn(BATCH, SLOTS, device=device)
    return yesterday, rush + 0.5 * (yesterday - rush)


def learn(model, optimizer, bridge, device):
    which = torch.full((BATCH,), bridge, device=device)
    for _ in range(STEPS_PER_BRIDGE):
        yesterday, today = days(bridge, device)
        loss = F.mse_loss(model(which, yesterday), today)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        time.sleep(0.05)
    return loss.item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Traffic().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    uploader, learnt = Uploader(Bucket()), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        bridge = random.randrange(BRIDGES)
        loss = learn(model, optimizer, bridge, device)
        learnt += 1
        state = {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}  # grows
        uploader.upload(f"bridge-{bridge:02d}.pt", state)
        if learnt % 10 == 0:
            print(f"{learnt} bridges learnt, loss {loss:.4f}, {uploader.done} uploaded", flush=True)


if __name__ == "__main__":
    main()
