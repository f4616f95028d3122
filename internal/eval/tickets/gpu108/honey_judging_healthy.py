"""Learns to score honey at a beekeeping fair from the spectra of the jars that come to the judges' table.

Jars arrive all day. A jar stands on the bench for some rounds of tasting, during which its spectrum teaches the
scorer, and then goes to the shelf; jars that are too moist are withdrawn by the steward. Every eight seconds the
scorer is held against the large panel of reference honeys.

ticket: practice
class: none
"""
import os
import random
import time
from dataclasses import dataclass

import torch
from torch import nn

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
BANDS = 65_536
ARRIVALS = 3
TASTINGS = 4
MOISTURE_LIMIT = 18.6
PANEL_HONEYS = 2_000
PANEL_EVERY = 8.0
PANEL_LASTS = 3.0


@dataclass
class Jar:
    number: int
    moisture: float
    points: float
    tastings: int = 0


class JudgesTable:
    """The jars on the bench, and their spectra by the number of the jar."""

    def __init__(self, rng):
        self.rng = rng
        self.bench = []
        self.spectra = {}
        self.arrived = 0
        self.withdrawn = 0

    def arrive(self):
        self.arrived += 1
        jar = Jar(self.arrived, self.rng.uniform(16.0, 20.4), self.rng.uniform(0, 10))
        spectrum = torch.randn(BANDS, device=DEVICE)
        self.spectra[jar.number] = spectrum
        self.bench.append(jar)

    def inspect(self):
        for jar in list(self.bench):
            if jar.moisture > MOISTURE_LIMIT:
                self.bench.remove(jar)
                del self.spectra[jar.number]
                self.withdrawn += 1

    def taste(self):
        inputs = torch.stack([self.spectra[jar.number] for jar in self.bench])
        points = torch.tensor([[jar.points] for jar in self.bench], device=DEVICE)
        for jar in self.bench:
            jar.tastings += 1
        return inputs, points

    def clear_tasted(self):
        for jar in [jar for jar in self.bench if jar.tastings >= TASTINGS]:
            self.bench.remove(jar)
            del self.spectra[jar.number]


class Panel:
    """The reference honeys; they are laid out for a comparison and put away after it."""

    def __init__(self, scorer):
        self.scorer = scorer
        self.honeys = None
        self.until = 0.0

    def lay_out(self, now):
        self.honeys = torch.full((PANEL_HONEYS, BANDS), 0.5, device=DEVICE)
        self.until = now + PANEL_LASTS

    @torch.no_grad()
    def compare(self, rng):
        first = rng.randrange(PANEL_HONEYS - 16)
        return float(self.scorer(self.honeys[first:first + 16]).mean())

    def put_away(self):
        self.honeys = None


def main():
    torch.manual_seed(31)
    rng = random.Random(31)
    scorer = nn.Sequential(nn.Linear(BANDS, 32), nn.ReLU(), nn.Linear(32, 1)).to(DEVICE)
    optimizer = torch.optim.SGD(scorer.parameters(), lr=1e-5)
    table = JudgesTable(rng)
    panel = Panel(scorer)
    start = time.monotonic()
    next_panel = start + 2.5
    next_print = start + 3.0
    level = 0.0
    while (now := time.monotonic()) - start < SECONDS:
        for _ in range(ARRIVALS):
            table.arrive()
        table.inspect()
        if table.bench:
            inputs, points = table.taste()
            optimizer.zero_grad()
            loss = (scorer(inputs) - points).square().mean()
            loss.backward()
            optimizer.step()
            table.clear_tasted()
        if panel.honeys is None and now >= next_panel:
            panel.lay_out(now)
            next_panel += PANEL_EVERY
        elif panel.honeys is not None:
            level = panel.compare(rng)
            if now >= panel.until:
                panel.put_away()
        if now >= next_print:
            print(f"{table.arrived} jars, {table.withdrawn} withdrawn, panel at {level:.3f}", flush=True)
            next_print += 3.0
        time.sleep(max(0.02, 0.1 - (time.monotonic() - now)))
    print(f"judging over: {table.arrived} jars", flush=True)


if __name__ == "__main__":
    main()
