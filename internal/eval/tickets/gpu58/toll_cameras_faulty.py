"""A gateway for the cameras of a toll road that takes new plate readers while it serves. A new reader is a canary
first: if it is not confirmed within the grace period, the gateway goes back to the one before. It is confirmed once
it has run beside the reader that it follows for a few batches.

ticket: practice
class: app-leak
holder: Timer timer args previous
cause: timers-left threads-kept
"""

import os
import random
import threading
import time

import torch
from torch import nn

PIXELS, WIDTH, SIGNS, BATCH = 768, 1024, 36, 16
GRACE, TRIAL_BATCHES, DEPLOY_EVERY = 900.0, 4, 8


class Reader(nn.Module):
    def __init__(self, version):
        super().__init__()
        self.version = version
        self.layers = nn.Sequential(
            nn.Linear(PIXELS, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, SIGNS)
        )

    def forward(self, plates):
        return self.layers(plates)


class Gateway:
    def __init__(self, reader, device):
        self.device, self.lock = device, threading.Lock()
        self.reader, self.previous, self.confirmed = reader, None, True
        self.agreed, self.batches = 0.0, 0

    def deploy(self, version):
        """Puts a new reader into service as a canary."""
        torch.manual_seed(version)
        reader = Reader(version).to(self.device).eval()  # grows
        with self.lock:
            previous, self.reader = self.reader, reader
            self.previous, self.confirmed = previous, False
            self.agreed, self.batches = 0.0, 0
        timer = threading.Timer(GRACE, self.roll_back, args=(version, previous))  # keeps
        timer.daemon = True
        timer.start()

    def roll_back(self, version, previous):
        with self.lock:
            if self.reader.version == version and not self.confirmed:
                self.reader, self.previous, self.confirmed = previous, None, True
                print("version", version, "was not confirmed in time", flush=True)

    def confirm(self):
        with self.lock:
            self.confirmed, self.previous = True, None

    @torch.no_grad()
    def read(self, plates):
        signs = self.reader(plates).argmax(dim=1)
        if not self.confirmed:
            before = self.previous(plates).argmax(dim=1)
            self.agreed += (signs == before).float().mean().item()
            self.batches += 1
            if self.batches == TRIAL_BATCHES:
                self.confirm()
        return signs


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    gateway, batches, version = Gateway(Reader(0).to(device).eval(), device), 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        gateway.read(torch.rand(BATCH, PIXELS, device=device))
        batches += 1
        if batches % DEPLOY_EVERY == 0:
            version += 1
            gateway.deploy(version)
        if batches % 50 == 0:
            print(f"{batches} batches, version {gateway.reader.version}, agreed {gateway.agreed:.2f}", flush=True)
        time.sleep(random.uniform(0.03, 0.12))


if __name__ == "__main__":
    main()
