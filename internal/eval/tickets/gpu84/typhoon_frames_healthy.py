"""Cleans satellite frames of typhoons and sends them to the wall of a warning centre.

Eight storms are followed at once.  A network takes the newest infrared frame of each, removes the
stripes of the scanner, says how sure it is of every pixel and finds the eye.  For each storm a
record with both fields and the eye's place is pickled into the feed of the display wall (a named
pipe, given by WALL_FEED; without one the records go nowhere).

ticket: practice
class: none
"""
import os
import pickle
import time

import torch
import torch.nn.functional as F
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
STORMS = ("Aki", "Bora", "Chiho", "Dane", "Emiko", "Fumi", "Goro", "Hana")
SIDE = 256


class FrameCleaner(nn.Module):
    def __init__(self):
        super().__init__()
        self.look = nn.Conv2d(1, 16, 5, padding=2)
        self.think = nn.Conv2d(16, 16, 3, padding=1)
        self.fields = nn.Conv2d(16, 2, 3, padding=1)
        places = torch.linspace(0.0, 1.0, SIDE)
        self.register_buffer("places", places)

    def forward(self, frames):
        inner = F.relu(self.look(frames))
        inner = F.relu(self.think(inner)) + inner
        change, doubt = self.fields(inner).unbind(dim=1)
        bright = frames[:, 0] + 0.1 * change
        return torch.stack([bright, F.softplus(doubt)], dim=1), self.eye(bright)

    def eye(self, bright):
        weight = torch.softmax(40.0 * bright.flatten(1), dim=1).view_as(bright)
        row = (weight.sum(dim=2) * self.places).sum(dim=1)
        column = (weight.sum(dim=1) * self.places).sum(dim=1)
        return torch.stack([row, column], dim=1)


class Satellite:
    """Storms wander over the frame; scanner stripes and noise are added to each picture."""

    def __init__(self, seed):
        self.dice = torch.Generator(device=DEVICE).manual_seed(seed)
        self.centres = 0.3 + 0.4 * torch.rand(len(STORMS), 2, generator=self.dice, device=DEVICE)
        self.grid = torch.linspace(0.0, 1.0, SIDE, device=DEVICE)

    def frames(self):
        drift = torch.randn(len(STORMS), 2, generator=self.dice, device=DEVICE)
        self.centres = (self.centres + 0.004 * drift).clamp(0.1, 0.9)
        rows = self.grid[None, :, None] - self.centres[:, 0, None, None]
        columns = self.grid[None, None, :] - self.centres[:, 1, None, None]
        radius = (rows ** 2 + columns ** 2).sqrt()
        storm = torch.exp(-60.0 * (radius - 0.02) ** 2)
        stripes = 0.1 * torch.rand(len(STORMS), SIDE, 1, generator=self.dice, device=DEVICE)
        noise = 0.05 * torch.randn(len(STORMS), SIDE, SIDE, generator=self.dice, device=DEVICE)
        return (storm + stripes + noise)[:, None]


class WallFeed:
    """Writes records for the display wall, one pickle after another."""

    def __init__(self, path):
        self.pipe = open(path, "wb")
        self.pickler = pickle.Pickler(self.pipe, protocol=pickle.HIGHEST_PROTOCOL)
        self.sent = 0

    def send(self, record):
        self.pickler.dump(record)
        self.pickler.clear_memo()
        self.sent += 1

    def close(self):
        self.pipe.close()


@torch.no_grad()
def scan(cleaner, satellite, feed, slot):
    fields, eyes = cleaner(satellite.frames())
    fields = fields.cpu().numpy()
    eyes = eyes.tolist()
    for number, storm in enumerate(STORMS):
        feed.send({
            "storm": storm,
            "slot": slot,
            "eye": eyes[number],
            "brightness": fields[number, 0],
            "doubt": fields[number, 1],
        })
    return eyes


def main():
    relief = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(26)
    cleaner = FrameCleaner().to(DEVICE).eval()
    satellite = Satellite(seed=9)
    feed = WallFeed(os.environ.get("WALL_FEED", os.devnull))
    slot = 0
    while time.time() < relief:
        eyes = scan(cleaner, satellite, feed, slot)
        if slot % 16 == 0:
            row, column = eyes[slot // 16 % len(STORMS)]
            print(f"slot {slot}: {STORMS[slot // 16 % len(STORMS)]} at {row:.3f}, {column:.3f}; "
                  f"{feed.sent} records sent", flush=True)
        slot += 1
        time.sleep(0.2)
    feed.close()
    print(f"shift relieved after {slot} slots", flush=True)


if __name__ == "__main__":
    main()
