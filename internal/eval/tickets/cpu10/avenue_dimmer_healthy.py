"""Dimming plans for the street lighting of avenues.

For each avenue there is a plan with the brightness of each lamp at each minute of the day. From the counts of the
traffic the plans are revised in little steps; an operator may take back the last revision of an avenue. In between
the present minute of the plans is sent to the lamps.

ticket: practice
class: none
"""
import os
import time

import torch
from torch.nn import functional as F

MINUTES = 1440
AVENUES = {"Linden": 420, "Harbour": 380, "Museum": 400, "Mill": 350, "Station": 440, "Garden": 410}
TICK = 0.2
TICKS_A_REVISION = 6
AVENUES_A_REVISION = 3


class Avenue:
    def __init__(self, name, lamps):
        self.name = name
        self.lamps = lamps
        self.revision = 0
        minute = torch.arange(MINUTES).float()
        night = 0.5 + 0.5 * torch.cos(2 * torch.pi * minute / MINUTES)
        self.plan = night.repeat(lamps, 1)

    def restore(self, plan):
        self.plan = plan

    def energy(self):
        return float(self.plan.mean()) * self.lamps


class Counters:
    """Traffic counts at the lamps, with a rush in the morning and in the evening."""

    def __init__(self, seed):
        self.noise = torch.Generator().manual_seed(seed)
        minute = torch.arange(MINUTES).float()
        self.rush = torch.exp(-((minute - 480) / 90) ** 2) + torch.exp(-((minute - 1050) / 120) ** 2)

    def traffic(self, avenue):
        lively = torch.rand(avenue.lamps, 1, generator=self.noise)
        return lively * self.rush


def revised(plan, traffic):
    """The plan a little nearer to what the traffic asks for, smooth over the minutes."""
    wanted = torch.clamp(0.6 * plan + 0.4 * traffic, 0.1, 1.0)
    smooth = F.avg_pool1d(wanted.unsqueeze(0), 15, stride=1, padding=7, count_include_pad=False)[0]
    return torch.lerp(plan, smooth, 0.2)


class Controller:
    def __init__(self, counters):
        self.counters = counters
        self.avenues = [Avenue(name, lamps) for name, lamps in AVENUES.items()]
        self.undo = {}
        self.taken_back = 0

    def revise(self, avenue):
        before = avenue.plan
        avenue.plan = revised(before, self.counters.traffic(avenue))
        avenue.revision += 1
        self.undo.pop((avenue.name, avenue.revision - 1), None)
        self.undo[avenue.name, avenue.revision] = lambda: avenue.restore(before)

    def take_back(self, avenue):
        """The last revision of an avenue is undone, once."""
        action = self.undo.pop((avenue.name, avenue.revision), None)
        if action is not None:
            action()
            self.taken_back += 1

    def send(self, minute):
        """What goes to the lamps in that minute; returns the mean brightness."""
        columns = [avenue.plan[:, minute % MINUTES] for avenue in self.avenues]
        return float(torch.cat(columns).mean())


def turn_of(controller, number):
    """The avenues whose plans are due in this revision, in turns."""
    first = number * AVENUES_A_REVISION
    return [controller.avenues[(first + k) % len(AVENUES)] for k in range(AVENUES_A_REVISION)]


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    controller = Controller(Counters(seed=23))
    ticks = revisions = 0
    while time.time() < end:
        level = controller.send(minute=7 * ticks)
        if ticks % TICKS_A_REVISION == 0:
            due = turn_of(controller, revisions)
            for avenue in due:
                controller.revise(avenue)
            if revisions % 5 == 4:
                controller.take_back(due[-1])
            revisions += 1
        if ticks % 15 == 0:
            energy = sum(avenue.energy() for avenue in controller.avenues)
            print(f"tick {ticks}: level {level:.2f}, {energy:.0f} units, {revisions} revisions, "
                  f"{controller.taken_back} taken back", flush=True)
        ticks += 1
        time.sleep(TICK)


if __name__ == "__main__":
    main()
