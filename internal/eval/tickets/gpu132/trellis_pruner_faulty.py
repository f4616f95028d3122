"""Training on the move for a robot that prunes vines.

The robot drives along the rows of a vineyard and predicts where to cut each cane. A shared trunk reads the features
of the canes; every row has its own grafting and training form, so a small head is fitted to the row while the robot
works in it. The trunk goes on learning from one row to the next.

ticket: practice
class: app-leak
holder: optimizer
cause: optimizer-groups-added
"""
import os
import time

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
FEATURES, HIDDEN, CUTS = 96, 320, 4
BATCH = 64
STEPS_PER_ROW = 3
STEPS_PER_SECOND = 12


class Trunk(nn.Module):
    """Shared reading of a cane: thickness, nodes, angle, neighbours."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(FEATURES, 384), nn.ReLU(), nn.Linear(384, 384), nn.ReLU(), nn.Linear(384, HIDDEN)
        )

    def forward(self, canes):
        return self.layers(canes)


class RowHead(nn.Module):
    """Cut positions in the training form of one row."""

    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(HIDDEN, 336, device=DEVICE)  # grows
        self.out = nn.Linear(336, CUTS, device=DEVICE)

    def forward(self, code):
        return self.out(torch.tanh(self.mix(code)))


class Vineyard:
    """Synthetic rows; each has its own linear rule for the cuts."""

    def __init__(self, seed):
        self._generator = torch.Generator().manual_seed(seed)
        self._base = torch.randn(FEATURES, CUTS, generator=self._generator)
        self.row = 0
        self.next_row()

    def next_row(self):
        self.row += 1
        form = torch.randn(FEATURES, CUTS, generator=self._generator)
        self._rule = (self._base + 0.3 * form).to(DEVICE) / FEATURES ** 0.5

    def canes(self):
        batch = torch.randn(BATCH, FEATURES, generator=self._generator).to(DEVICE)
        return batch, batch @ self._rule


class Pruner:
    """Trunk, head of the row at hand, and the optimizer for both."""

    def __init__(self):
        self.trunk = Trunk().to(DEVICE)
        self.optimizer = torch.optim.Adam(self.trunk.parameters(), lr=5e-4)
        self.head = None

    def enter_row(self):
        if self.head is not None:
            self.retire(self.head)
        self.head = RowHead()
        self.optimizer.add_param_group({"params": list(self.head.parameters()), "lr": 3e-3})  # keeps

    def retire(self, head):
        """The trunk alone learns on; a head is of no use outside its row."""
        for parameter in head.parameters():
            parameter.requires_grad_(False)
            parameter.grad = None

    def step(self, canes, cuts):
        error = self.head(self.trunk(canes)) - cuts
        loss = error.pow(2).mean()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.trunk.parameters(), 1.0)
        self.optimizer.step()  # grows keeps
        return loss.detach()


class Logbook:
    """Running error of the cuts, for the screen of the driver."""

    def __init__(self):
        self.smooth = None

    def note(self, loss):
        value = float(loss)
        self.smooth = value if self.smooth is None else 0.95 * self.smooth + 0.05 * value

    def show(self, row, step):
        print(f"row {row}, step {step}: squared error of the cuts {self.smooth:.4f}", flush=True)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(77)
    seconds = float(os.environ.get("SECONDS", "120"))
    vineyard = Vineyard(seed=5)
    pruner = Pruner()
    logbook = Logbook()

    start = time.monotonic()
    next_show = start + 3.0
    step = 0
    while time.monotonic() - start < seconds:
        if step % STEPS_PER_ROW == 0:
            vineyard.next_row()
            pruner.enter_row()
        logbook.note(pruner.step(*vineyard.canes()))
        step += 1
        if time.monotonic() >= next_show:
            logbook.show(vineyard.row, step)
            next_show += 3.0
        time.sleep(max(0.0, start + step / STEPS_PER_SECOND - time.monotonic()))
    print(f"pruned {vineyard.row} rows in {step} steps", flush=True)


if __name__ == "__main__":
    main()
