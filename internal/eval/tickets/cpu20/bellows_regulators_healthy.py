"""Wind supply of a row of organ lofts, watched by a recurrent observer.

Each loft has bellows with a regulator; players draw wind in gusts. A recurrent cell with fixed random couplings
turns the flow signals into a rich state, and a linear readout learns online to foretell the wind pressure a moment
ahead. The blower of a loft is set by the forecast, so that heavy chords do not make the pitch sag.

ticket: practice
class: none
"""
import os
import time

import torch
from torch import nn
from torch.nn import functional as F

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
LOFTS = 96
FLOWS = 12
WIDTH = 256
SCORE_STEPS = 6000
NOMINAL = 1.0


class Players:
    """What the organists draw: one score of wind flows for each loft, played in a ring."""

    def __init__(self, generator):
        gusts = torch.rand(SCORE_STEPS, LOFTS, FLOWS, generator=generator)
        self._score = torch.where(gusts > 0.8, gusts, torch.zeros(()))

    def flows(self, turn):
        return self._score[turn % SCORE_STEPS]


class WindSupply:
    """Bellows and blowers: the pressure of each loft under its load."""

    def __init__(self, generator):
        self._generator = generator
        self.pressure = torch.full((LOFTS,), NOMINAL)
        self.blower = torch.zeros(LOFTS)

    def advance(self, flows):
        load = flows.sum(dim=1) / FLOWS
        rush = 0.01 * torch.randn(LOFTS, generator=self._generator)
        self.pressure += 0.4 * (NOMINAL - self.pressure) - 0.5 * load + self.blower + rush
        self.pressure.clamp_(0.0, 2.0)


class WindObserver:
    """Recurrent state over all lofts and a readout that is learnt as the music goes on."""

    def __init__(self):
        self._cell = nn.GRUCell(FLOWS + 1, WIDTH)
        self._readout = nn.Linear(WIDTH, 1)
        self._optimizer = torch.optim.Adam(self._readout.parameters(), lr=3e-3)
        self._state = torch.zeros(LOFTS, WIDTH)
        self._forecast = None
        self.error = 0.0

    def observe(self, flows, pressure):
        """Take in the signals of this turn and give the forecast for the next."""
        signals = torch.cat([flows, pressure.unsqueeze(1) - NOMINAL], dim=1)
        self._state = self._cell(signals, self._state).detach()
        self._forecast = self._readout(self._state.detach()).squeeze(1)
        return self._forecast.detach()

    def learn(self, pressure):
        """Set the last forecast against the pressure that came."""
        if self._forecast is None:
            return
        loss = F.smooth_l1_loss(self._forecast, pressure.clone())
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self._optimizer.step()
        self.error += 0.05 * (loss.item() - self.error)


class WindRoom:
    def __init__(self, seed):
        torch.manual_seed(seed)
        generator = torch.Generator().manual_seed(seed)
        self._players = Players(generator)
        self._supply = WindSupply(generator)
        self._observer = WindObserver()
        self.sagging = 0

    def round(self, turn):
        flows = self._players.flows(turn)
        self._supply.advance(flows)
        self._observer.learn(self._supply.pressure)
        forecast = self._observer.observe(flows, self._supply.pressure)
        self._supply.blower = (0.3 * (NOMINAL - forecast)).clamp(-0.2, 0.4)
        self.sagging = int((self._supply.pressure < 0.85).sum())

    def mean_pressure(self):
        return float(self._supply.pressure.mean())

    def forecast_error(self):
        return self._observer.error


def main():
    torch.set_num_threads(1)
    room = WindRoom(seed=88)
    start = time.monotonic()
    next_print = 2.0
    turn = 0
    while (now := time.monotonic() - start) < SECONDS:
        room.round(turn)
        turn += 1
        if now >= next_print:
            print(f"{now:6.1f} s  turn {turn}  pressure {room.mean_pressure():.3f}  sagging lofts {room.sagging}  "
                  f"forecast error {room.forecast_error():.5f}", flush=True)
            next_print += 2.0
        time.sleep(max(0.0, turn / ROUNDS_PER_SECOND - (time.monotonic() - start)))
    print(f"blowers off after {turn} turns, forecast error {room.forecast_error():.5f}", flush=True)


if __name__ == "__main__":
    main()
