"""The water levels of a river with weirs are simulated, and gauges are read on the way. A flight recorder keeps the
debug messages with the whole field of levels for the case that something goes wrong; a file for them can be named.

ticket: practice
class: none
"""

import logging
import logging.handlers
import os
import random
import time
from dataclasses import dataclass
from typing import Optional

import numpy as np
import torch
from torch.nn import functional as F

log = logging.getLogger("weir")


@dataclass(frozen=True)
class River:
    length: int = 512
    width: int = 256
    weirs: tuple = (120, 260, 400)
    flow: float = 0.2
    dump: Optional[str] = None
    records: int = 16


class DumpHandler(logging.Handler):
    def __init__(self, path):
        super().__init__()
        self.path = path

    def emit(self, record):
        np.save(self.path, record.args[1])


def set_up_logging(river):
    console = logging.StreamHandler()
    console.setLevel(logging.INFO)
    target = DumpHandler(river.dump) if river.dump else logging.NullHandler()
    recorder = logging.handlers.MemoryHandler(river.records, flushLevel=logging.ERROR, target=target)
    log.setLevel(logging.DEBUG)
    log.addHandler(console)
    log.addHandler(recorder)


class Water:
    """The levels, and how they even out between the weirs."""

    def __init__(self, river, device):
        self.river = river
        self.levels = torch.rand(river.length, river.width, device=device)
        self.kernel = torch.tensor([[0.05, 0.1, 0.05], [0.1, 0.4, 0.1], [0.05, 0.1, 0.05]], device=device)[None, None]
        self.open = torch.ones(river.length, 1, device=device)
        self.open[list(river.weirs)] = 0.3

    def rain(self, amount):
        self.levels = self.levels + amount * torch.rand_like(self.levels)

    def step(self):
        padded = F.pad(self.levels[None, None], (1, 1, 1, 1), mode="replicate")
        even = F.conv2d(padded, self.kernel)[0, 0]
        moved = self.open * self.river.flow * (even - self.levels)
        self.levels = (even + moved) * 0.995


class Gauges:
    def __init__(self, river):
        self.places = [weir - 1 for weir in river.weirs]

    def _field(self, water):
        return water.levels.cpu().numpy()

    def read(self, water, step):
        field = self._field(water)
        log.debug("step %d: levels %s", step, field)
        return [float(field[place].mean()) for place in self.places]


class Simulation:
    def __init__(self, river, device):
        self.water, self.gauges, self.steps = Water(river, device), Gauges(river), 0

    def advance(self):
        for _ in range(4):
            self.water.step()
        if random.random() < 0.2:
            self.water.rain(random.uniform(0.0, 0.5))
        self.steps += 4
        readings = self.gauges.read(self.water, self.steps)
        if self.steps % 200 == 0:
            log.info("step %d: %s", self.steps, ", ".join(f"{reading:.3f}" for reading in readings))


if __name__ == "__main__":
    torch.set_num_threads(1)
    settings = River()
    set_up_logging(settings)
    simulation = Simulation(settings, "cuda" if torch.cuda.is_available() else "cpu")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        simulation.advance()
        time.sleep(random.uniform(0.03, 0.07))
