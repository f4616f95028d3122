"""A desk tells ferries how far they will drift. Each ferry that calls gets a thread of its own with an inbox, so that
a slow ferry does not hold up the others; the thread works on the readings in the order in which they come. A ferry
sends a few readings, waits for each forecast, and hangs up when it is across, which ends its thread.

ticket: practice
class: none
"""

import os
import queue
import random
import threading
import time

import torch
from torch import nn

READINGS, SENSORS, WIDTH, AHEAD = 64, 48, 256, 16


def make_forecaster():
    return nn.Sequential(
        nn.Linear(SENSORS, WIDTH, bias=False),
        nn.GELU(),
        nn.Linear(WIDTH, WIDTH),
        nn.GELU(),
        nn.Linear(WIDTH, AHEAD),
    )


class Desk:
    """Serves each ferry that has called in a thread of its own."""

    def __init__(self, device):
        self.device = device
        self.model = make_forecaster().to(device).eval()
        self.ferries = {}

    def call(self, name):
        inbox, outbox = queue.Queue(), queue.Queue()
        self.ferries[name] = inbox, outbox
        threading.Thread(target=self.serve, args=(inbox, outbox), name=name, daemon=True).start()

    def ask(self, name, readings):
        inbox, outbox = self.ferries[name]
        inbox.put(readings)
        return outbox.get(timeout=60)

    def hang_up(self, name):
        inbox, _ = self.ferries.pop(name)
        inbox.put(None)

    def serve(self, inbox, outbox):
        for readings in iter(inbox.get, None):
            outbox.put(self.forecast(readings))

    @torch.inference_mode()
    def forecast(self, readings):
        return self.model(readings.to(self.device)).mean(0).tolist()


def cross(desk, name):
    """One crossing of a ferry, from its call until it hangs up."""
    desk.call(name)
    farthest = 0.0
    for _ in range(random.randint(3, 6)):
        drift = desk.ask(name, torch.randn(READINGS, SENSORS))
        farthest = max(farthest, *map(abs, drift))
        time.sleep(random.uniform(0.1, 0.25))
    desk.hang_up(name)
    return farthest


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    desk, crossed = Desk(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        crossed += 1
        farthest = cross(desk, f"ferry {crossed}")
        if crossed % 5 == 0:
            print(crossed, "ferries are across, the last drifted by", round(farthest, 3), flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
