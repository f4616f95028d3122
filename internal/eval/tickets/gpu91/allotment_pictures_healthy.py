"""Growth reports from the cameras over a field of allotments, sent to the society's office.

Each mast over the allotments looks down on forty-eight plots. Ten times a second one of the masts delivers its
picture of every plot; a small network on the graphics card turns the pictures into a map of leaf cover and a row
of numbers on ripeness. The report of the mast (who, when, the leaf maps and the ripeness) is then pickled and goes
down the line to the office, where the members look at their beans. The line is a stand-in here: it takes the bytes
and sums them up.

ticket: practice
class: none
"""
import os
import pickle
import time
import zlib

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
PLOTS = 48
SIDE = 96
MASTS = ("north gate", "water butt", "compost", "old pear", "sheds")
BEAT = 0.1


class Grower(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 12, 5, padding=2)
        self.second = nn.Conv2d(12, 12, 3, padding=1)
        self.cover = nn.Conv2d(12, 1, 1)
        self.ripe = nn.Linear(12, 6)

    def forward(self, pictures):
        x = F.relu(self.first(pictures))
        x = F.relu(self.second(x))
        return self.cover(x).sigmoid()[:, 0], self.ripe(x.mean((2, 3)))


class Mast:
    """A camera over forty-eight plots, with plants that grow from picture to picture."""

    def __init__(self, name, seed):
        self.name = name
        self.making = torch.Generator(device=DEVICE)
        self.making.manual_seed(seed)
        self.soil = torch.rand(PLOTS, 3, SIDE, SIDE, generator=self.making, device=DEVICE)
        self.grown = 0.0

    def look(self):
        self.grown = (self.grown + 0.01) % 1.0
        noise = torch.rand(PLOTS, 3, SIDE, SIDE, generator=self.making, device=DEVICE)
        return (1.0 - self.grown) * self.soil + self.grown * noise


class Line:
    """The line to the office."""

    def __init__(self):
        self.sent = 0
        self.sum = 0

    def write(self, piece):
        self.sum = zlib.adler32(piece, self.sum)
        size = memoryview(piece).nbytes
        self.sent += size
        return size


class Reporter:
    def __init__(self, line):
        self.line = line
        self.pickler = pickle.Pickler(line, protocol=5)
        self.reports = 0

    def send(self, report):
        self.pickler.dump(report)
        self.pickler.clear_memo()
        self.reports += 1


@torch.no_grad()
def inspect(grower, mast):
    cover, ripe = grower(mast.look())
    return {
        "mast": mast.name,
        "when": time.time(),
        "leaf": cover.cpu().numpy(),
        "ripe": ripe.cpu().numpy(),
    }


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(77)
    grower = Grower().to(DEVICE).eval()
    masts = [Mast(name, seed) for seed, name in enumerate(MASTS)]
    line = Line()
    reporter = Reporter(line)
    while time.time() < end:
        began = time.time()
        mast = masts[reporter.reports % len(masts)]
        report = inspect(grower, mast)
        reporter.send(report)
        if reporter.reports % 40 == 0:
            green = float(np.mean(report["leaf"]))
            best = int(report["ripe"].sum(1).argmax())
            print(
                f"report {reporter.reports}: {mast.name} is {green:.2f} green, plot {best} is ripest,"
                f" {line.sent / 1e6:.0f} MB on the line",
                flush=True,
            )
        time.sleep(max(0.0, BEAT - (time.time() - began)))
    print(f"{reporter.reports} reports sent, check sum {line.sum:08x}", flush=True)


if __name__ == "__main__":
    main()
