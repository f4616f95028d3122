"""Reading of close-up photographs in a coral nursery.

A diver works along the trays for a while and then rests. Each photograph goes through a small
network that tells open polyps from closed ones. The inner maps of the network are looked at as
well, because they show whether a photograph was taken in murky water and has to be left out.

ticket: practice
class: none
"""
import os
import time
from contextlib import contextmanager

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 8
DIVE_SECONDS = 10.0
REST_SECONDS = 6.0
SIDE = 128

torch.set_num_threads(1)


class MurkyWater(Exception):
    """The photograph shows too little to be read."""


class PolypNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, padding=1)
        self.pool = nn.AvgPool2d(8)
        self.body = nn.Conv2d(16, 32, 3, padding=1)
        self.head = nn.Linear(32, 2)

    def forward(self, photo):
        maps = self.stem(photo)
        body = torch.relu(self.body(self.pool(torch.relu(maps))))
        return self.head(body.mean(dim=(2, 3)))


class Camera:
    """Photographs of the trays; at every other tray the water is stirred up."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.trays = torch.rand(120, 3, SIDE, SIDE, generator=self.generator, device=DEVICE)

    def photo(self, index):
        contrast = 0.05 if index % 2 else 1.0
        return (self.trays[index % len(self.trays)] * contrast).unsqueeze(0)


@contextmanager
def tapped(module, name):
    """Offer the output of a module by its name while the block runs."""
    taps = {}

    def take(_module, _inputs, output):
        taps.setdefault(name, output)

    handle = module.register_forward_hook(take)
    try:
        yield taps
    finally:
        handle.remove()


class PolypReader:
    def __init__(self, net, threshold):
        self.net = net
        self.threshold = threshold

    @torch.no_grad()
    def read(self, photo):
        with tapped(self.net.stem, "stem") as taps:
            scores = self.net(photo)
            clarity = float(taps["stem"].std(dim=(2, 3)).mean())
            if clarity < self.threshold:
                raise MurkyWater(f"clarity {clarity:.3f}")
        return torch.softmax(scores, dim=1)[0, 1].item()


class Dive:
    """Counts what one dive has brought."""

    def __init__(self, reader, camera):
        self.reader = reader
        self.camera = camera
        self.index = 0
        self.murky = 0
        self.open_share = 0.5

    def next_tray(self):
        photo = self.camera.photo(self.index)
        self.index += 1
        try:
            share = self.reader.read(photo)
        except MurkyWater:
            self.murky += 1
            return
        self.open_share = 0.9 * self.open_share + 0.1 * share


def main():
    torch.manual_seed(71)
    net = PolypNet().to(DEVICE).eval()
    dive = Dive(PolypReader(net, threshold=0.03), Camera(seed=72))
    start = time.monotonic()
    last_line = start
    rounds = 0
    while time.monotonic() - start < SECONDS:
        in_cycle = (time.monotonic() - start) % (DIVE_SECONDS + REST_SECONDS)
        diving = in_cycle < DIVE_SECONDS
        if diving:
            dive.next_tray()
        rounds += 1
        now = time.monotonic()
        if now - last_line >= 3.0:
            last_line = now
            state = "diving" if diving else "resting"
            print(f"{now - start:6.1f} s  {state:8s} trays {dive.index}  murky {dive.murky}"
                  f"  open polyps {100.0 * dive.open_share:.1f} %", flush=True)
        time.sleep(max(0.0, start + rounds / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"last dive over, {dive.index} trays seen, {dive.murky} murky", flush=True)


if __name__ == "__main__":
    main()
