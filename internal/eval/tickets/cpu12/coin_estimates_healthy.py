"""Price estimates for a house that sells coins in many short sales.

A common network maps weight, grade, rarity and die variety of a coin to its hammer price.
Every sale has its own audience, so that a correction table for the die varieties is trained beside the common
network while the sale lasts, and the next sale begins with a fresh table.

ticket: practice
class: none
"""
import os
import time

import numpy as np
import torch
from torch import nn

SECONDS = float(os.environ.get("SECONDS", "45"))
ROUNDS_PER_SECOND = 15
TRAITS = 24
VARIETIES = 4096
WIDTH = 96
LOTS_IN_SALE = 9


class Consignments:
    """Random coins with hidden worth; each sale shifts the taste for the varieties."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.traits = self.rng.normal(0.0, 1.0, (120_000, TRAITS)).astype(np.float32)
        self.varieties = self.rng.integers(0, VARIETIES, 120_000)
        self.worth = self.rng.normal(0.0, 0.4, TRAITS).astype(np.float32)
        self.taste = np.zeros(VARIETIES, dtype=np.float32)

    def next_sale(self):
        self.taste = self.rng.normal(0.0, 0.3, VARIETIES).astype(np.float32)

    def batch(self, count):
        rows = self.rng.integers(0, len(self.traits), count)
        traits, varieties = self.traits[rows], self.varieties[rows]
        price = traits @ self.worth + self.taste[varieties]
        return torch.from_numpy(traits), torch.from_numpy(varieties), torch.from_numpy(price)


class CommonNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(TRAITS, 256), nn.ReLU(), nn.Linear(256, WIDTH), nn.ReLU())
        self.head = nn.Linear(WIDTH, 1)

    def forward(self, traits, correction):
        hidden = self.body(traits) + correction
        return self.head(hidden).squeeze(-1)


class Estimator:
    """Common network and the correction of the sale that is on."""

    def __init__(self):
        self.net = CommonNet()
        self._optimizer = torch.optim.Adam(self.net.parameters(), lr=2e-3)
        self._table = None
        self.sale = 0

    def open_sale(self):
        self.sale += 1
        table = nn.Parameter(torch.randn(VARIETIES, WIDTH) * 0.01)
        self._optimizer.add_param_group({"params": [table], "lr": 2e-2})
        self._table = table

    def close_sale(self):
        spread = self._table.detach().std().item()
        for group in self._optimizer.param_groups[1:]:
            for parameter in group["params"]:
                self._optimizer.state.pop(parameter, None)
        del self._optimizer.param_groups[1:]
        self._table = None
        return spread

    def train(self, traits, varieties, price):
        correction = self._table[varieties]
        loss = nn.functional.mse_loss(self.net(traits, correction), price)
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        return loss.item()


class SaleRoom:
    """Leads the estimator from lot to lot and from sale to sale."""

    def __init__(self):
        self.consignments = Consignments(53)
        self.estimator = Estimator()
        self.lots = 0
        self.loss = 0.0
        self.spread = 0.0

    def call_lot(self):
        if self.lots % LOTS_IN_SALE == 0:
            if self.lots:
                self.spread = self.estimator.close_sale()
            self.consignments.next_sale()
            self.estimator.open_sale()
        self.lots += 1
        loss = self.estimator.train(*self.consignments.batch(96))
        self.loss = 0.9 * self.loss + 0.1 * loss if self.lots > 1 else loss


def main():
    torch.manual_seed(53)
    torch.set_num_threads(1)
    room = SaleRoom()
    end = time.monotonic() + SECONDS
    report_at = time.monotonic() + 3.0
    while time.monotonic() < end:
        began = time.monotonic()
        room.call_lot()
        if time.monotonic() >= report_at:
            sale = room.estimator.sale
            print(f"sale {sale}, lot {room.lots}: loss {room.loss:.4f}, spread {room.spread:.4f}", flush=True)
            report_at += 3.0
        time.sleep(max(0.005, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - began)))
    print(f"done: {room.estimator.sale} sales, {room.lots} lots, loss {room.loss:.4f}", flush=True)


if __name__ == "__main__":
    main()
