"""How long will a ship lie at the berth?  A forecast for a container port.

All ships share one trunk that reads the quay's figures (cranes at work, wind,
tide, the yard's filling, the stowage plan).  Each ship that calls gets a
correction of its own on top of it, which is learned from the hours that the
ship has been alongside.  Six ships lie at the quay at a time; when one sails,
the next takes its berth, and its correction starts afresh.  The trunk goes on
learning from all of them.

ticket: practice
class: app-leak
holder: param_groups optimizer
cause: optimizer-groups-added entries-left
"""
import collections
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

BERTHS = 6
FIGURES = 96
WIDTH = 256
HIDDEN = 1024
HOURS = 128
CALL_PACE = 0.35
STEPS_PER_CALL = 3

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Trunk(nn.Module):
    """Reads the figures of the quay."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(FIGURES, WIDTH), nn.SiLU(), nn.Linear(WIDTH, WIDTH), nn.SiLU()
        )
        self.remaining = nn.Linear(WIDTH, 1)

    def forward(self, figures):
        return self.layers(figures)


class Correction(nn.Module):
    """What is particular to one ship."""

    def __init__(self):
        super().__init__()
        self.wide = nn.Linear(WIDTH, HIDDEN)
        self.narrow = nn.Linear(HIDDEN, WIDTH)
        nn.init.zeros_(self.narrow.weight)
        nn.init.zeros_(self.narrow.bias)

    def forward(self, reading):
        return reading + self.narrow(F.silu(self.wide(reading)))


class Quay:
    """The ships alongside, and what has been learned about each of them."""

    def __init__(self):
        torch.manual_seed(41)
        self.trunk = Trunk().to(device)
        self.optimizer = torch.optim.Adam(self.trunk.parameters(), lr=3e-4)
        self.corrections = {}
        self.alongside = collections.deque()

    def moor(self, ship):
        correction = Correction().to(device)  # grows
        self.corrections[ship] = correction
        self.optimizer.add_param_group({"params": list(correction.parameters()), "lr": 2e-3})  # keeps
        self.alongside.append(ship)

    def cast_off(self):
        ship = self.alongside.popleft()
        del self.corrections[ship]
        return ship

    def forecast(self, ship, figures):
        reading = self.corrections[ship](self.trunk(figures))
        return self.trunk.remaining(reading).squeeze(1)

    def learn(self, hours):
        """One step on the last hours of all ships at the quay."""
        self.optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for ship in self.alongside:
            figures, remaining = hours[ship]
            loss = F.smooth_l1_loss(self.forecast(ship, figures), remaining)
            loss.backward()
            total += loss.item()
        self.optimizer.step()
        return total / len(self.alongside)


def quay_log(generator, ship):
    """Figures and remaining hours as the port's log has them for one ship."""
    figures = torch.randn(HOURS, FIGURES, generator=generator)
    slowness = 1.0 + 0.2 * (ship % 7)
    remaining = slowness * (2.0 + figures[:, :4].sum(dim=1))
    return figures.to(device), remaining.to(device)


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(13)
    quay = Quay()
    hours = {}

    ship = 0
    for ship in range(BERTHS):
        hours[ship] = quay_log(generator, ship)
        quay.moor(ship)

    calls = BERTHS
    next_call = time.time()
    while time.time() < deadline:
        for _ in range(STEPS_PER_CALL):
            error = quay.learn(hours)

        sailed = quay.cast_off()
        del hours[sailed]
        ship += 1
        hours[ship] = quay_log(generator, ship)
        quay.moor(ship)
        calls += 1

        if calls % 15 == 0:
            with torch.no_grad():
                figures, _ = hours[ship]
                stay = quay.forecast(ship, figures[-1:]).item()
            print(f"call {calls}: ship {sailed} sailed, ship {ship} made fast, "
                  f"forecast {stay:.1f} h, error {error:.3f}", flush=True)
        next_call += CALL_PACE
        time.sleep(max(0.0, next_call - time.time()))

    print(f"{calls} calls, {len(quay.alongside)} ships alongside at the end", flush=True)


if __name__ == "__main__":
    main()
