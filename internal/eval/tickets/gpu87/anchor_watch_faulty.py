"""Anchor watch for the roads outside a harbour.

Ships that wait for a berth lie at anchor and swing with wind and tide. For every ship a cloud of particles follows
where its stern may be; from the clouds a chart of likelihood is drawn for each ship, the charts are compared to see
which two may touch, and the whole watch is written to a journal as a stream of records that the pilot station can
play back. The journal goes to the path in ANCHOR_JOURNAL, or nowhere.

ticket: practice
class: host-growth
holder: journal_pickler
cause: pickler-memo-kept
"""
import math
import os
import pickle
import time

import torch

SHIPS = 64
PARTICLES = 4096
CELLS = 96
ROADS = 4000.0
LOOKS_A_SECOND = 8


class Journal:
    """A stream of pickled records, one after the other."""

    def __init__(self, path):
        self.stream = open(path, "wb")
        self.journal_pickler = pickle.Pickler(self.stream, protocol=pickle.HIGHEST_PROTOCOL)
        self.records = 0

    def write(self, record):
        self.journal_pickler.dump(record)  # keeps
        self.records += 1

    def close(self):
        self.stream.close()


class AnchoredShips:
    """Particles for the stern of every ship, swinging about its anchor."""

    def __init__(self, device):
        self.device = device
        self.anchor = torch.rand(SHIPS, 1, 2, device=device) * ROADS
        self.scope = 120.0 + 80.0 * torch.rand(SHIPS, 1, device=device)
        self.bearing = torch.randn(SHIPS, PARTICLES, device=device) * 0.3
        self.drag = torch.zeros(SHIPS, PARTICLES, device=device)

    def swing(self, wind):
        self.bearing += 0.1 * torch.sin(wind - self.bearing)
        self.bearing += 0.05 * torch.randn(SHIPS, PARTICLES, device=self.device)
        self.drag *= 0.98
        self.drag += torch.rand(SHIPS, PARTICLES, device=self.device).pow(8)

    def sterns(self):
        reach = self.scope + self.drag
        offset = torch.stack([torch.cos(self.bearing), torch.sin(self.bearing)], dim=2)
        return self.anchor + reach.unsqueeze(2) * offset


def draw_charts(sterns, anchor):
    """Likelihood of the stern on a grid about the anchor, one chart a ship."""
    spread = 300.0
    cells = ((sterns - anchor + spread) / (2 * spread) * CELLS).long().clamp_(0, CELLS - 1)
    index = cells[..., 0] * CELLS + cells[..., 1]
    charts = torch.zeros(SHIPS, CELLS * CELLS, device=sterns.device)
    charts.scatter_add_(1, index, torch.ones_like(index, dtype=torch.float32))
    return (charts / PARTICLES).view(SHIPS, CELLS, CELLS)


def closest_pair(sterns):
    middle = sterns.mean(dim=1)
    apart = torch.cdist(middle, middle)
    apart.fill_diagonal_(math.inf)
    place = int(apart.argmin())
    return place // SHIPS, place % SHIPS, apart.min().item()


@torch.no_grad()
def look(number, ships, journal):
    wind = math.sin(number * 0.01) * math.pi
    ships.swing(wind)
    sterns = ships.sterns()
    charts = draw_charts(sterns, ships.anchor).cpu().numpy()  # grows
    first, second, apart = closest_pair(sterns)
    journal.write({"look": number, "wind": wind, "pair": (first, second, apart), "charts": charts})
    return first, second, apart, float(charts.max())


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(31)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    ships = AnchoredShips(device)
    journal = Journal(os.environ.get("ANCHOR_JOURNAL", os.devnull))
    print(f"{SHIPS} ships at anchor, on {device}", flush=True)

    number = 0
    due = time.time()
    while time.time() < deadline:
        first, second, apart, surest = look(number, ships, journal)
        number += 1
        if number % 24 == 0:
            print(f"look {number}: ships {first} and {second} lie {apart:.0f} m apart, surest cell {surest:.3f}, "
                  f"{journal.records} records", flush=True)
        due += 1 / LOOKS_A_SECOND
        pause = due - time.time()
        if pause > 0:
            time.sleep(pause)
        else:
            due = time.time()
    journal.close()
    print(f"watch ended after {number} looks", flush=True)


if __name__ == "__main__":
    main()
