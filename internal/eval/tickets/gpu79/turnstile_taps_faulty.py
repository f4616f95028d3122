"""Watches the turnstiles of a metro. The taps of a window are counted by station and minute on the device and compared
with what is usual there; stations that stand out are reported. To keep the console short, the tables themselves go to a
memory handler, which holds a dozen records.

ticket: practice
class: host-growth
holder: buffer handlers MemoryHandler
cause: log-records-kept buffer-without-bound
"""

import logging
import os
import random
import sys
import time
from logging.handlers import MemoryHandler

import torch
from torch.nn import functional as F

STATIONS, MINUTES, TAPS, HELD = 480, 360, 200_000, 12

log = logging.getLogger("taps")


class Usual:
    """What is usual at each station: a running mean and a running spread."""

    def __init__(self, device):
        self.mean = torch.full((STATIONS,), TAPS / STATIONS / MINUTES, device=device)
        self.spread = torch.ones(STATIONS, device=device)

    def compare(self, rates):
        busy = rates.mean(dim=1)
        scores = (busy - self.mean) / self.spread.clamp(min=0.05)
        self.mean.lerp_(busy, 0.1)
        self.spread.lerp_((busy - self.mean).abs(), 0.1)
        return scores


def set_up_logging():
    log.setLevel(logging.DEBUG)
    console = logging.StreamHandler(sys.stdout)
    console.setLevel(logging.INFO)
    log.addHandler(console)
    log.addHandler(MemoryHandler(HELD))


def taps(device):
    """The station and the minute of each tap; now and then a match ends near one of the stations."""
    stations = torch.randint(STATIONS, (TAPS,), device=device)
    minutes = torch.randint(MINUTES, (TAPS,), device=device)
    if random.random() < 0.1:
        stations[: TAPS // 50] = random.randrange(STATIONS)
    return stations, minutes


def count(stations, minutes):
    cells = torch.bincount(stations * MINUTES + minutes, minlength=STATIONS * MINUTES)
    table = cells.view(1, STATIONS, MINUTES).float()
    return F.avg_pool1d(table, 9, stride=1, padding=4)[0]


def main():
    torch.set_num_threads(1)
    set_up_logging()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    usual, window = Usual(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        rates = count(*taps(device))
        scores = usual.compare(rates)
        table = (60 * rates).cpu().numpy()  # grows
        log.debug("window %d, taps an hour:\n%s", window, table)  # keeps
        station = scores.argmax().item()
        if window > 20 and scores[station] > 12:
            log.warning("window %d: station %d stands out, %.0f taps an hour", window, station, table[station].mean())
        window += 1
        if window % 25 == 0:
            log.info("%d windows, usual rate %.2f", window, usual.mean.mean().item())
        time.sleep(random.uniform(0.05, 0.2))


if __name__ == "__main__":
    main()
