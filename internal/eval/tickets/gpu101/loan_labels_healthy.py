"""Reader of handwritten labels for a herbarium that takes sheets on loan.

Every loan comes from another collection, with another hand on its labels. A shared reader is trained all the time;
for each loan a script matrix is fitted beside it, which translates the strokes of that hand into the reader's own.
When the loan goes home, the next parcel is opened.

ticket: practice
class: none
"""
import os
import random
import time

import torch
from torch import nn

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
ROUNDS_PER_SECOND = 10
STROKES = 512
CODE = 384
GENERA = 120
SHEETS = 96
HERBARIA = ("Kew", "Leiden", "Geneva", "Uppsala", "Paris", "Florence", "Vienna", "Edinburgh")


class Loan:
    """A parcel of sheets from another herbarium."""

    def __init__(self, number, herbarium, sheets):
        self.number = number
        self.herbarium = herbarium
        self.left = sheets
        self.generator = torch.Generator(device=DEVICE).manual_seed(number)
        self.slant = torch.randn(STROKES, generator=self.generator, device=DEVICE) * 0.3

    def unfold(self, prototypes, count):
        genera = torch.randint(GENERA, (count,), generator=self.generator, device=DEVICE)
        noise = torch.randn(count, STROKES, generator=self.generator, device=DEVICE)
        self.left -= count
        return prototypes[genera] * (1 + self.slant) + 0.2 * noise, genera


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Linear(STROKES, CODE)
        self.genus = nn.Linear(CODE, GENERA)

    def forward(self, strokes, script):
        code = self.shared(strokes) + strokes @ script
        return self.genus(torch.relu(code))


class ReadingRoom:
    def __init__(self, seed):
        torch.manual_seed(seed)
        self.random = random.Random(seed)
        self.prototypes = torch.randn(GENERA, STROKES, device=DEVICE)
        self.atlas = torch.rand(24, 512, 640, device=DEVICE)
        self.reader = Reader().to(DEVICE)
        self.optimizer = torch.optim.Adam(self.reader.parameters(), lr=1e-3)
        self.loan = None
        self.script = None
        self.loans = 0
        self.right = 0.0

    def open_loan(self):
        self.loans += 1
        herbarium = self.random.choice(HERBARIA)
        self.loan = Loan(self.loans, herbarium, sheets=SHEETS * self.random.randint(4, 6))
        self.script = nn.Parameter(torch.zeros(STROKES, CODE, device=DEVICE))
        self.optimizer.add_param_group({"params": [self.script], "lr": 4e-3})

    def return_loan(self):
        for parameter in self.optimizer.param_groups.pop()["params"]:
            self.optimizer.state.pop(parameter, None)
        self.script = None
        self.loan = None

    def paper_tone(self, number):
        return 0.9 + 0.2 * self.atlas[number % len(self.atlas)].mean()

    def read(self, number):
        if self.loan is None:
            self.open_loan()
        strokes, genera = self.loan.unfold(self.prototypes, SHEETS)
        scores = self.reader(strokes * self.paper_tone(number), self.script)
        loss = nn.functional.cross_entropy(scores, genera)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        share = (scores.argmax(dim=1) == genera).float().mean().item()
        self.right = 0.95 * self.right + 0.05 * share
        if self.loan.left <= 0:
            self.return_loan()
        return loss.item()


def main():
    room = ReadingRoom(seed=1753)
    started = time.monotonic()
    number = 0
    while time.monotonic() - started < SECONDS:
        loss = room.read(number)
        if number % 30 == 0:
            print(f"tray {number:4d}  loan {room.loans:3d}  loss {loss:.3f}  read right {room.right:.2f}", flush=True)
        number += 1
        time.sleep(1 / ROUNDS_PER_SECOND)
    print(f"{room.loans} loans read, {room.right:.2f} of the labels right", flush=True)


if __name__ == "__main__":
    main()
