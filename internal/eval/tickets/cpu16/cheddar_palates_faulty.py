"""A cheese fair trains a stand-in jury: a network learns from old score sheets how judges mark cheddar.

The inputs are volatile profiles from a gas chromatograph, the targets the marks of five judges for body, flavour and
finish. After each lesson the chairman looks at what the middle layer makes of one tray, to see which aromas count.

ticket: practice
class: host-growth
holder: hooks
cause: hooks-left
"""
import os
import time

import torch
from torch import nn

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 1.0 / 10
PEAKS = 240
JUDGES = 5
MARKS = 3
WHEELS = 2048
WIDTH = 512


class ScoreSheets:
    """Old fairs: volatile profiles of the wheels and the marks that they were given."""

    def __init__(self, generator):
        self.generator = generator
        self.profiles = torch.rand(WHEELS, PEAKS, generator=generator) ** 2
        taste = torch.randn(PEAKS, JUDGES * MARKS, generator=generator) / PEAKS ** 0.5
        noise = 0.1 * torch.randn(WHEELS, JUDGES * MARKS, generator=generator)
        self.marks = torch.tanh(self.profiles @ taste) + noise

    def lesson(self, size):
        picks = torch.randint(0, WHEELS, (size,), generator=self.generator)
        return self.profiles[picks], self.marks[picks]

    def tray(self, size):
        first = int(torch.randint(0, WHEELS - size, (1,), generator=self.generator))
        return self.profiles[first:first + size]


class AromaView:
    """What a layer makes of the first tray that passes through it."""

    def __init__(self, title):
        self.title = title
        self.response = None

    def look(self, module, inputs, output):
        if self.response is None:
            self.response = output.detach().clone()  # grows keeps

    def busiest(self):
        """The units that answer most strongly, strongest first."""
        return self.response.abs().mean(dim=0).topk(4).indices.tolist()

    def sparsity(self):
        return float((self.response <= 0.0).float().mean())


class StandInJury:
    """The network with its lessons and the chairman's views."""

    def __init__(self, sheets):
        self.sheets = sheets
        self.front = nn.Sequential(nn.Linear(PEAKS, 256), nn.ReLU())
        self.middle = nn.Sequential(nn.Linear(256, WIDTH), nn.ReLU())
        self.back = nn.Linear(WIDTH, JUDGES * MARKS)
        self.net = nn.Sequential(self.front, self.middle, self.back)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.lessons = 0
        self.error = 1.0

    def teach(self):
        profiles, marks = self.sheets.lesson(64)
        loss = nn.functional.mse_loss(self.net(profiles), marks)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.lessons += 1
        self.error += 0.05 * (loss.item() - self.error)

    @torch.no_grad()
    def view(self):
        """Pass one tray and look at the middle layer."""
        view = AromaView(f"tray after lesson {self.lessons}")
        handle = self.middle.register_forward_hook(view.look)  # keeps
        marks = self.net(self.sheets.tray(320))
        return view, marks.view(-1, JUDGES, MARKS)


def disagreement(marks):
    """Mean spread between the judges for one tray."""
    return float(marks.std(dim=1).mean())


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1902)
    jury = StandInJury(ScoreSheets(torch.Generator().manual_seed(1903)))
    spread = 0.0
    began = time.monotonic()
    next_line = 3.0
    while True:
        now = time.monotonic() - began
        if now >= SECONDS:
            break
        jury.teach()
        view, marks = jury.view()
        spread += 0.1 * (disagreement(marks) - spread)
        if now >= next_line:
            print(f"{now:6.1f} s  {view.title}: units {view.busiest()}  idle {view.sparsity():.2f}"
                  f"  error {jury.error:.4f}  spread {spread:.3f}", flush=True)
            next_line += 3.0
        time.sleep(max(0.0, ROUND - (time.monotonic() - began - now)))
    print(f"the stand-in jury sits after {jury.lessons} lessons, error {jury.error:.4f}", flush=True)


if __name__ == "__main__":
    main()
