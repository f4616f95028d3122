"""Follow ships around a headland from the bearings that its lighthouses take.

Four lights stand along the coast. Ten times a second each of them sends the bearing of every ship in sight,
blurred by haze and by the swell under the ship. A recurrent network, whose middle was trained ashore, carries a
belief about each ship from one set of bearings to the next, and a last layer turns the belief into a position.
Now and then the harbour radar gives true positions, so that the last layer goes on learning on the watch: it is
the only part that is fitted here. A ship that sails off the chart is replaced by one that comes over the horizon.

ticket: practice
class: none
"""
import math
import os
import time

import torch
import torch.nn.functional as F
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
SHIPS = 256
WIDTH = 256
HALF = 20.0  # half the side of the chart, in sea miles
BEAT = 0.1
LIGHTS = [(-18.0, -19.0), (-6.0, -20.0), (7.0, -19.5), (19.0, -17.0)]


class Sea:
    """The ships as they really sail, and what the lights see of them."""

    def __init__(self, ships):
        self.lights = torch.tensor(LIGHTS, device=DEVICE)
        self.place = (torch.rand(ships, 2, device=DEVICE) - 0.5) * 2 * HALF
        self.course = torch.rand(ships, device=DEVICE) * 2 * math.pi
        self.speed = 0.05 + 0.15 * torch.rand(ships, device=DEVICE)

    def sail(self):
        self.course += 0.05 * torch.randn_like(self.course)
        heading = torch.stack((self.course.cos(), self.course.sin()), 1)
        self.place += heading * self.speed[:, None]
        gone = (self.place.abs() > HALF).any(1)
        newcomers = (torch.rand_like(self.place) - 0.5) * 2 * HALF
        newcomers[:, 1] = HALF * 0.98
        self.place = torch.where(gone[:, None], newcomers, self.place)
        self.course = torch.where(gone, torch.full_like(self.course, -math.pi / 2), self.course)
        return gone

    def bearings(self):
        line = self.place[:, None, :] - self.lights[None]
        angle = torch.atan2(line[..., 1], line[..., 0])
        haze = 0.01 + 0.002 * line.norm(dim=-1)
        angle = angle + haze * torch.randn_like(angle)
        return torch.cat((angle.sin(), angle.cos()), 1)


class Plotter(nn.Module):
    def __init__(self):
        super().__init__()
        self.look = nn.Linear(2 * len(LIGHTS), WIDTH)
        self.mix = nn.Linear(WIDTH, WIDTH)
        self.cell = nn.GRUCell(WIDTH, WIDTH)
        self.fix = nn.Linear(WIDTH, 2)

    def forward(self, seen, belief):
        return self.cell(torch.relu(self.mix(torch.relu(self.look(seen)))), belief)


class Watch:
    """One watch at the chart table."""

    def __init__(self, plotter, ships):
        self.plotter = plotter
        self.belief = torch.zeros(ships, WIDTH, device=DEVICE)
        self.blank = torch.zeros(1, WIDTH, device=DEVICE)
        self.learning = torch.optim.SGD(plotter.fix.parameters(), lr=0.02, momentum=0.9)
        self.error = 1.0

    def hear(self, seen, arrived):
        start = torch.where(arrived[:, None], self.blank, self.belief)
        with torch.no_grad():
            self.belief = self.plotter(seen, start)

    def correct(self, truth):
        guess = self.plotter.fix(self.belief.detach())
        loss = F.smooth_l1_loss(guess, truth / HALF)
        self.learning.zero_grad()
        loss.backward()
        self.learning.step()
        self.error = 0.95 * self.error + 0.05 * loss.item()

    def nearest(self, lights):
        with torch.no_grad():
            place = self.plotter.fix(self.belief) * HALF
            return torch.cdist(place, lights).min().item()


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(31)
    sea = Sea(SHIPS)
    watch = Watch(Plotter().to(DEVICE), SHIPS)
    heard = 0
    while time.time() < end:
        began = time.time()
        arrived = sea.sail()
        watch.hear(sea.bearings(), arrived)
        heard += 1
        if heard % 3 == 0:
            watch.correct(sea.place)
        if heard % 20 == 0:
            close = watch.nearest(sea.lights)
            print(f"bearings {heard}: error {watch.error:.4f}, closest approach {close:.1f} miles", flush=True)
        time.sleep(max(0.0, BEAT - (time.time() - began)))
    print(f"watch over after {heard} sets of bearings", flush=True)


if __name__ == "__main__":
    main()
