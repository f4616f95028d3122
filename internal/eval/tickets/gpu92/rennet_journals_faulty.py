"""Journal of the curd vats of a dairy.

Three vats are warmed by a steam jacket and stirred while the rennet sets the milk. The
temperature of each vat is computed on a grid of its cross-section. The vats take turns:
one of them is advanced by some stirs, and an entry with its temperatures and its curd is
put into the journal, which packs it and passes the packed entry on with a checksum.

ticket: practice
class: host-growth
holder: pickler journal
cause: pickler-memo-kept
"""
import io
import itertools
import os
import pickle
import time
import zlib

import torch
import torch.nn.functional as F

HIGH, WIDE = 384, 768
JACKET = 34.0
ROOM = 18.0
STIRS = 6
PACE = 1 / 6
PAGE_SECONDS = 3


class Vat:
    """Heat spreads, the paddle carries it round, and warm milk turns into curd."""

    def __init__(self, name, milk, device):
        self.name = name
        self.heat = torch.full((1, 1, HIGH, WIDE), milk, device=device)
        self.curd = torch.zeros(1, 1, HIGH, WIDE, device=device)
        self.kernel = torch.tensor([[0.05, 0.2, 0.05], [0.2, 0.0, 0.2], [0.05, 0.2, 0.05]], device=device)[None, None]
        self.minutes = 0.0
        self.device = device

    def paddle(self):
        ys, xs = torch.meshgrid(
            torch.linspace(-1, 1, HIGH, device=self.device),
            torch.linspace(-1, 1, WIDE, device=self.device),
            indexing="ij",
        )
        swirl = 0.03 * torch.exp(-(xs**2 + ys**2) * 2)
        return torch.stack((xs - swirl * ys, ys + swirl * xs), dim=-1)[None]

    def stir(self, grid):
        spread = F.conv2d(F.pad(self.heat, (1, 1, 1, 1), value=JACKET), self.kernel)
        carried = F.grid_sample(spread, grid, padding_mode="border", align_corners=True)
        carried[:, :, 0] += 0.02 * (ROOM - carried[:, :, 0])
        self.heat = carried
        self.curd = self.curd + 0.01 * torch.sigmoid(self.heat - 31.0) * (1.0 - self.curd)
        self.minutes += 0.25

    def entry(self):
        excess = (self.heat[0, 0] - ROOM).cpu().numpy()  # grows
        return {
            "vat": self.name,
            "minutes": self.minutes,
            "excess": excess,
            "curd": float(self.curd.mean()),
        }

    def empty(self):
        self.curd.zero_()
        self.heat.fill_(20.0)
        self.minutes = 0.0


class Journal:
    def __init__(self):
        self.page = io.BytesIO()
        self.pickler = pickle.Pickler(self.page, protocol=5)
        self.checksum = 0
        self.entries = 0
        self.passed_on = 0

    def write(self, entry):
        self.pickler.dump(entry)  # keeps
        self.entries += 1
        self.pass_on()

    def pass_on(self):
        packed = self.page.getvalue()
        self.checksum = zlib.crc32(packed, self.checksum)
        self.passed_on += len(packed)
        self.page.seek(0)
        self.page.truncate()

    def __str__(self):
        return f"{self.entries} entries, {self.passed_on / 2**20:.1f} MiB packed, checksum {self.checksum:08x}"


@torch.no_grad()
def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    vats = [Vat("north", 22.0, device), Vat("middle", 20.5, device), Vat("south", 24.0, device)]
    journal = Journal()
    grid = vats[0].paddle()
    shown = time.time()
    for vat in itertools.cycle(vats):
        began = time.time()
        if began >= end:
            break
        for _ in range(STIRS):
            vat.stir(grid)
        entry = vat.entry()
        journal.write(entry)
        if entry["curd"] > 0.5:
            vat.empty()
        if began - shown >= PAGE_SECONDS:
            shown = began
            print(f"{journal}; {vat.name} curd {entry['curd']:.1%}", flush=True)
        time.sleep(max(0.0, PACE - (time.time() - began)))


if __name__ == "__main__":
    main()
