"""Groundwater around a field of wells, day by day. Pumps go on and off, and the water table follows. What happens each
day goes to a flight recorder in memory, which is formatted and printed only if the solver breaks down, since texts of
whole fields would cost more than the solver itself.

ticket: practice
class: none
"""

import logging
import logging.handlers
import os
import random
import time

import torch
from torch.nn import functional as F

SIDE, WELLS, SUBSTEPS = 560, 40, 12
log = logging.getLogger("wells")


def flight_recorder(records=20):
    """A handler that gathers the records of the last days until they are asked for."""
    recorder = logging.handlers.MemoryHandler(records, logging.CRITICAL, target=logging.NullHandler())
    log.addHandler(recorder)
    log.setLevel(logging.DEBUG)
    log.propagate = False
    return recorder


class Aquifer:
    def __init__(self, device):
        self.head = torch.full((1, 1, SIDE, SIDE), 50.0, device=device)
        self.ground = 0.05 + 0.15 * torch.rand(1, 1, SIDE, SIDE, device=device)
        self.rows, self.columns = torch.randint(SIDE, (2, WELLS), device=device)
        self.rates = torch.zeros(WELLS, device=device)
        self.kernel = torch.tensor([[0.0, 1, 0], [1, -4, 1], [0, 1, 0]], device=device)[None, None]

    def switch(self):
        """Some pumps are switched on and the others off."""
        on = torch.rand(WELLS, device=self.rates.device) < 0.4
        self.rates = on * torch.rand(WELLS, device=self.rates.device)

    def day(self):
        head, sink = self.head, torch.zeros_like(self.head)
        sink[0, 0].index_put_((self.rows, self.columns), self.rates, accumulate=True)
        for _ in range(SUBSTEPS):
            flow = F.conv2d(F.pad(head, (1, 1, 1, 1), mode="replicate"), self.kernel)
            head = head + self.ground * flow - sink + 1e-3 * (50.0 - head)
        self.head = head
        return head


def break_down(recorder, day):
    """The recorder's days are printed."""
    recorder.setTarget(logging.StreamHandler())
    log.critical("the solver broke down on day %d", day)
    raise SystemExit(1)


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    recorder, aquifer, day = flight_recorder(), Aquifer(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        if day % 15 == 0:
            aquifer.switch()
        head = aquifer.day()
        day += 1
        log.debug("day %d: pumped %.2f, heads %s", day, aquifer.rates.sum().item(), head)
        lowest = head.min().item()
        if not lowest > -1000.0:
            break_down(recorder, day)
        if day % 30 == 0:
            print(f"day {day}: lowest head {lowest:.2f} m", flush=True)
        time.sleep(random.uniform(0.03, 0.09))


if __name__ == "__main__":
    main()
