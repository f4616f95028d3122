"""A genoa is built of horizontal cloths, and each is cut flat from a curved surface. The loft's service gets orders
with the wind that a sail is meant for; a membrane model on the device finds the curve of a cloth under this wind,
and the flattened cloth goes to the plotter as a table of stretches. Orders for the same wind share their cloths.

ticket: practice
class: host-growth
holder: _tables
cause: cache-without-bound
"""
import os
import time

import numpy as np
import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
CLOTHS = 4
ROWS, COLUMNS = 256, 256
CLOTHS_A_SECOND = 12.0
LIGHTEST, HEAVIEST = 8.6, 11.4


class Membrane:
    """Relaxes the surface of one cloth between its edges under the pressure of the wind."""

    def __init__(self, sweeps=12):
        self.sweeps = sweeps
        across = torch.linspace(0.0, 1.0, COLUMNS, device=DEVICE)
        self.draft = 4.0 * across * (1.0 - across) ** 1.4

    @torch.no_grad()
    def depth(self, cloth, wind):
        """Depth of the surface in metres on the cloth's grid."""
        height = (cloth + torch.linspace(0.0, 1.0, ROWS, device=DEVICE)) / CLOTHS
        pressure = 0.0006 * wind ** 2 * (0.6 + 0.4 * height)
        surface = pressure.unsqueeze(1) * self.draft
        for _ in range(self.sweeps):
            inner = (surface[:-2, 1:-1] + surface[2:, 1:-1] + surface[1:-1, :-2] + surface[1:-1, 2:]) / 4.0
            surface[1:-1, 1:-1] = 0.7 * surface[1:-1, 1:-1] + 0.3 * inner
        return surface


class Flattener:
    """Turns the depth of a cloth into the stretches along and across the flat cloth."""

    def __init__(self, spacing=0.02):
        self.spacing = spacing

    def table(self, depth):
        grid = depth.cpu().numpy().astype(np.float64)
        down, along = np.gradient(grid, self.spacing)
        stretch = np.stack([np.sqrt(1.0 + down ** 2), np.sqrt(1.0 + along ** 2)])  # grows
        np.cumsum(stretch[1], axis=1, out=stretch[1])
        stretch[1] *= self.spacing
        return stretch


class ClothService:
    """Hands out cloth tables; those made before are used again."""

    def __init__(self):
        self.membrane = Membrane()
        self.flattener = Flattener()
        self.made = 0
        self.shared = 0
        self._tables = {}

    def cloth(self, number, wind):
        key = (number, wind)
        if key in self._tables:
            self.shared += 1
            return self._tables[key]
        table = self.flattener.table(self.membrane.depth(number, wind))
        self._tables[key] = table  # keeps
        self.made += 1
        return table


class Plotter:
    """Adds up the cloth it cuts, with a little for the seams."""

    def __init__(self, seam=0.03):
        self.seam = seam
        self.metres = 0.0

    def cut(self, table):
        longest = float(table[1, :, -1].max())
        self.metres += longest + 2.0 * self.seam


class OrderBook:
    """Orders come with the wind of the customer's home waters, cloth after cloth."""

    def __init__(self, seed):
        self._dice = np.random.default_rng(seed)
        self.wind = LIGHTEST
        self.cloth = -1
        self.sails = 0

    def next_cloth(self):
        self.cloth = (self.cloth + 1) % CLOTHS
        if self.cloth == 0:
            self.sails += 1
            self.wind = float(self._dice.uniform(LIGHTEST, HEAVIEST))
        return self.cloth, self.wind


def main():
    torch.set_num_threads(1)
    service, plotter = ClothService(), Plotter()
    book = OrderBook(seed=150)
    start = time.monotonic()
    next_line = start + 2.0
    while time.monotonic() - start < SECONDS:
        number, wind = book.next_cloth()
        plotter.cut(service.cloth(number, wind))
        if time.monotonic() >= next_line:
            print(f"sail {book.sails} for {wind:.1f} m/s: {service.made} cloths made, {service.shared} shared, "
                  f"{plotter.metres:.0f} m cut", flush=True)
            next_line += 3.0
        time.sleep(1.0 / CLOTHS_A_SECOND)
    print(f"loft closed: {book.sails} sails, {plotter.metres:.0f} m of cloth", flush=True)


if __name__ == "__main__":
    main()
