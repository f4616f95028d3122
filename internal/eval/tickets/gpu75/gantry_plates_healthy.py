"""A toll gantry reads the number plates of passing cars. The reader is trained on all night long, and the depot hands
out fresh weights every half second or so: the gantry swaps its reader without a stop. The lamps tell over the bus how
bright they are, and the reader that is in use sets its gain by it.

ticket: practice
class: none
"""

import os
import random
import time
from collections import defaultdict

import torch
from torch import nn

SIGNS, PLACES = 36, 7
HEIGHT, WIDTH = 48, 112
RELOAD = 0.6


class Bus:
    """Whoever wants to hear of a topic subscribes to it."""

    def __init__(self):
        self.handlers = defaultdict(list)

    def subscribe(self, topic, handler):
        self.handlers[topic].append(handler)

    def unsubscribe(self, topic, handler):
        self.handlers[topic].remove(handler)

    def publish(self, topic, value):
        for handler in self.handlers[topic]:
            handler(value)


class PlateReader(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = 1.0
        self.look = nn.Sequential(
            nn.Conv2d(1, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(64, 64, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(),
        )
        self.mix = nn.Linear(64 * (HEIGHT // 8) * (WIDTH // 8), 512)
        self.signs = nn.Linear(512, PLACES * SIGNS)

    def on_lamps(self, brightness):
        self.gain = 1.0 / max(brightness, 0.1)

    def forward(self, photos):
        hidden = torch.relu(self.mix(self.look(self.gain * photos)))
        return self.signs(hidden).view(-1, PLACES, SIGNS)


class Gantry:
    def __init__(self, bus, device):
        self.bus, self.device = bus, device
        self.reader, self.version = None, 0
        self.swap(PlateReader().state_dict())

    def swap(self, weights):
        """The reader with these weights takes over."""
        fresh = PlateReader().to(self.device)
        fresh.load_state_dict(weights)
        if self.reader is not None:
            self.bus.unsubscribe("lamps", self.reader.on_lamps)
        self.bus.subscribe("lamps", fresh.on_lamps)
        self.reader, self.version = fresh.eval(), self.version + 1

    @torch.no_grad()
    def read(self, photos):
        return self.reader(photos.to(self.device)).argmax(dim=-1).cpu()


def trained(reader):
    """What the depot has made of the weights in the meantime."""
    return {name: value.cpu() + 0.001 * torch.randn(value.shape) for name, value in reader.state_dict().items()}


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    bus = Bus()
    gantry, cars = Gantry(bus, device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    due, told = time.time() + RELOAD, time.time() + 3
    while time.time() < end:
        plates = gantry.read(torch.rand(random.randint(1, 6), 1, HEIGHT, WIDTH))
        cars += len(plates)
        if random.random() < 0.1:
            bus.publish("lamps", random.uniform(0.3, 1.0))
        if time.time() > due:
            gantry.swap(trained(gantry.reader))
            due = time.time() + RELOAD
        if time.time() > told:
            print(f"{cars} cars, reader {gantry.version}, gain {gantry.reader.gain:.2f}", flush=True)
            told = time.time() + 3
        time.sleep(0.04)


if __name__ == "__main__":
    main()
