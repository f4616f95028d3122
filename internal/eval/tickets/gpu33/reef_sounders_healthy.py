"""A survey boat listens to the reef. Detectors are plug-ins on a message bus: each takes the pings of its topic and
counts what it hears. When the crew tunes a detector, the host loads it anew with the new settings and closes the old
one; pings go to the new one from then on.

ticket: practice
class: none
"""

import os
import random
import time
from collections import defaultdict

import torch
from torch import nn

KINDS = "shrimp", "parrotfish", "grouper", "boat"
SAMPLES = 4096


class Bus:
    def __init__(self):
        self.listeners = defaultdict(list)

    def on(self, topic, listener):
        self.listeners[topic].append(listener)

    def off(self, topic, listener):
        self.listeners[topic].remove(listener)

    def publish(self, topic, *message):
        for listener in list(self.listeners[topic]):
            listener(*message)


class Detector:
    """A plug-in. It hears pings of its kind and writes its last counts when the boat calls 'drain'."""

    def __init__(self, bus, kind, threshold, device):
        self.bus, self.kind, self.threshold = bus, kind, threshold
        self.net = nn.Sequential(nn.Linear(SAMPLES, 320), nn.ReLU(), nn.Linear(320, 1)).to(device).eval()
        self.heard = 0
        bus.on("ping/" + kind, self.hear)
        bus.on("drain", self.drain)

    @torch.inference_mode()
    def hear(self, ping):
        self.heard += int((self.net(ping).sigmoid() > self.threshold).sum())

    def drain(self):
        if self.heard:
            print(f"{self.kind}: {self.heard} above {self.threshold:.2f}", flush=True)
            self.heard = 0

    def close(self):
        self.drain()
        self.bus.off("ping/" + self.kind, self.hear)
        self.bus.off("drain", self.drain)


class Host:
    def __init__(self, device):
        self.device, self.bus, self.plugins = device, Bus(), {}
        for kind in KINDS:
            self.load(kind, 0.5)

    def load(self, kind, threshold):
        old = self.plugins.pop(kind, None)
        if old is not None:
            old.close()
        self.plugins[kind] = Detector(self.bus, kind, threshold, self.device)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    host, pings, tune = Host(device), 0, time.time() + 1
    while time.time() < end:
        ping = torch.randn(random.choice((4, 8)), SAMPLES, device=device)
        host.bus.publish("ping/" + random.choice(KINDS), ping)
        pings += 1
        if time.time() > tune:
            host.load(random.choice(KINDS), random.uniform(0.3, 0.7))
            tune = time.time() + random.uniform(0.3, 0.8)
        if pings % 100 == 0:
            print(f"{pings} pings, {len(host.plugins)} detectors", flush=True)
        time.sleep(random.uniform(0.02, 0.06))
    host.bus.publish("drain")


if __name__ == "__main__":
    main()
