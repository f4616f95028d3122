"""Tuning of a carillon in the bell foundry.

The bells go one after another over the tuning lathe, two a second. For each bell the cut along its inner wall is fitted
by Adam against the wanted partial tones, together with a tone model that all bells of the carillon share. The bell is
on the lathe for five passes and then makes room for the next one.

ticket: practice
class: app-leak
holder: optimizer state
cause: optimizer-groups-added
"""
import itertools
import os
import time

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))

PASSES_PER_S = 10
PASSES_PER_BELL = 5
HEIGHTS, ANGLES = 160, 1024
PARTIALS = 5


class ToneModel(nn.Module):
    """From the thickness along the wall to the cents by which each partial is off."""

    def __init__(self):
        super().__init__()
        self.along = nn.Parameter(torch.randn(HEIGHTS, 2048) / HEIGHTS**0.5)
        self.hidden = nn.Linear(2048, 512)
        self.cents = nn.Linear(512, PARTIALS)

    def forward(self, wall):
        around = wall.mean(dim=1)
        return self.cents(torch.tanh(self.hidden(around @ self.along)))


class Bell:
    def __init__(self, number, generator):
        self.number = number
        self.rough = torch.rand(HEIGHTS, ANGLES, generator=generator, device=DEVICE)
        self.wanted = torch.rand(PARTIALS, generator=generator, device=DEVICE) - 0.5
        self.cut = nn.Parameter(torch.zeros(HEIGHTS, ANGLES, device=DEVICE))  # grows

    def wall(self):
        return self.rough - torch.relu(self.cut)


class TuningLathe:
    """Holds one bell at a time and the optimizer for its cut and the shared tone model."""

    def __init__(self, seed=43):
        torch.manual_seed(seed)
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.model = ToneModel().to(DEVICE)
        self.optimizer = torch.optim.Adam([{"params": list(self.model.parameters()), "name": "tones"}], lr=1e-3)
        self.numbers = itertools.count(1)
        self.bell = None
        self.passes = 0
        self.finished = 0

    def mount(self):
        self.bell = Bell(next(self.numbers), self.generator)
        self.optimizer.add_param_group({"params": [self.bell.cut], "lr": 5e-3, "name": f"bell-{self.bell.number}"})
        self.passes = 0

    def dismount(self):
        name = f"bell-{self.bell.number}"
        self.optimizer.param_groups = [group for group in self.optimizer.param_groups if group["name"] != name]
        self.bell = None
        self.finished += 1

    def turn(self):
        if self.bell is None:
            self.mount()
        self.optimizer.zero_grad(set_to_none=True)
        off = self.model(self.bell.wall()) - self.bell.wanted
        loss = off.square().mean() + 1e-3 * self.bell.cut.square().mean()
        loss.backward()  # grows
        self.optimizer.step()  # grows keeps
        self.passes += 1
        if self.passes >= PASSES_PER_BELL:
            self.dismount()
        return loss.item()


class Journal:
    def __init__(self):
        self.error = None

    def note(self, loss):
        self.error = loss if self.error is None else 0.95 * self.error + 0.05 * loss


def main():
    torch.set_num_threads(1)
    lathe = TuningLathe()
    journal = Journal()
    start = time.monotonic()
    due = start
    for turn in itertools.count(1):
        if time.monotonic() - start >= SECONDS:
            break
        journal.note(lathe.turn())
        if turn % (PASSES_PER_S * 3) == 0:
            print(f"turn {turn}: {lathe.finished} bells tuned, mean error {journal.error:.4f}", flush=True)
        due += 1.0 / PASSES_PER_S
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"carillon ready: {lathe.finished} bells", flush=True)


if __name__ == "__main__":
    main()
