"""Before a tea sale the brokers value each lot from the tasters' marks: leaf, infusion, liquor, garden and season.
A network learns the valuations while the sale goes on. When the market turns and its losses jump, the brokers
go back to the weights that did best in the last six seconds and go on from there.

ticket: practice
class: host-growth
holder: _weights
cause: snapshots-kept
"""
import bisect
import os
import time

import torch
from torch import nn
from torch.nn import functional

torch.set_num_threads(1)

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 12
KEEP_EVERY = 4
LOOK_BACK_S = 6.0
REPORT_EVERY_S = 2.0
MARKS = 40
LOTS = 48
JUMP = 2.5


class TeaMarket:
    """Prices follow the marks, and now and then the fashion among buyers changes."""

    def __init__(self, seed):
        self._generator = torch.Generator().manual_seed(seed)
        self._taste = torch.randn(MARKS, generator=self._generator)
        self.turns = 0

    def turn(self):
        self._taste = 0.6 * self._taste + 0.8 * torch.randn(MARKS, generator=self._generator)
        self.turns += 1

    def lots(self):
        marks = torch.randn(LOTS, MARKS, generator=self._generator)
        prices = torch.tanh(marks @ self._taste / MARKS ** 0.5)
        return marks, prices + 0.05 * torch.randn(LOTS, generator=self._generator)


class Versions:
    """The network's weights at recent moments, in order of time, with the loss each had then."""

    def __init__(self, look_back_s):
        self._look_back_s = look_back_s
        self._stamps = []
        self._losses = []
        self._weights = []

    def keep(self, network, loss):
        now = time.monotonic()
        weights = {name: value.detach().clone() for name, value in network.state_dict().items()}  # grows
        self._stamps.append(now)
        self._losses.append(loss)
        self._weights.append(weights)  # keeps
        past = bisect.bisect_left(self._stamps, now - self._look_back_s)
        del self._stamps[:past]
        del self._losses[:past]

    def best(self):
        place = min(range(len(self._losses)), key=self._losses.__getitem__)
        return self._weights[place - len(self._losses)]

    def __bool__(self):
        return bool(self._losses)


class ValuationRoom:
    def __init__(self, seed):
        torch.manual_seed(seed)
        self.network = nn.Sequential(
            nn.Linear(MARKS, 512),
            nn.ReLU(),
            nn.Linear(512, 512),
            nn.ReLU(),
            nn.Linear(512, 64),
            nn.ReLU(),
            nn.Linear(64, 1),
        )
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0.05, momentum=0.9)
        self.market = TeaMarket(seed + 1)
        self.versions = Versions(LOOK_BACK_S)
        self.usual = None
        self.rounds = 0
        self.returns = 0

    def value_lots(self):
        marks, prices = self.market.lots()
        self.optimizer.zero_grad()
        loss = functional.mse_loss(self.network(marks).squeeze(1), prices)
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimizer.step()
        self.rounds += 1
        return loss.item()

    def settle(self, loss):
        if self.usual is None:
            self.usual = loss
        if loss > JUMP * self.usual and self.versions:
            self.network.load_state_dict(self.versions.best())
            self.usual = loss
            self.returns += 1
        self.usual = 0.9 * self.usual + 0.1 * loss
        if self.rounds % KEEP_EVERY == 0:
            self.versions.keep(self.network, loss)


def main():
    room = ValuationRoom(seed=1706)
    began = reported = time.monotonic()
    loss = float("nan")
    while (now := time.monotonic()) - began < SECONDS:
        if room.rounds % 150 == 149:
            room.market.turn()
        loss = room.value_lots()
        room.settle(loss)
        if now - reported >= REPORT_EVERY_S:
            print(f"{now - began:6.1f} s  loss {loss:.4f}  usual {room.usual:.4f}  market turns {room.market.turns}  "
                  f"returns {room.returns}", flush=True)
            reported = now
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - now)))
    print(f"sale closed after {room.rounds} rounds: loss {loss:.4f}, {room.returns} returns", flush=True)


if __name__ == "__main__":
    main()
