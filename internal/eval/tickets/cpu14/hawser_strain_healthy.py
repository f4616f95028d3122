"""Learns the strain in a tug's hawser from wind, swell, engine settings and the yaw of the ship under tow.

Recordings of earlier tows are replayed in short pieces. A small network is trained on one piece after the other; beside
it a gauge follows how well the network does on pieces of another ship, and the captain's warning limit is widened or
narrowed by what the gauge says.

ticket: practice
class: none
"""
import os
import time

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 6
PIECE = 64
SIGNALS = 12
HIDDEN = 96
RECORDED = 300_000


class TowRecordings:
    """Signals and measured strain of past tows, of two ships."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.rng = rng
        self.signals = {}
        self.strain = {}
        for ship, swell in (("bulk carrier", 0.8), ("drill ship", 1.1)):
            signals = rng.standard_normal((RECORDED, SIGNALS), dtype=np.float32)
            signals[:, 0] *= swell
            mixing = rng.standard_normal((SIGNALS, 1), dtype=np.float32)
            strain = np.tanh(signals @ mixing * 0.3) + 0.2 * signals[:, :1] * signals[:, 1:2]
            self.signals[ship] = torch.from_numpy(signals)
            self.strain[ship] = torch.from_numpy(strain.astype(np.float32))

    def piece(self, ship):
        start = int(self.rng.integers(RECORDED - PIECE))
        part = slice(start, start + PIECE)
        return self.signals[ship][part], self.strain[ship][part]


class StrainNet(nn.Module):
    """Two hidden layers from the bridge's signals to the strain in the line."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(SIGNALS, HIDDEN)
        self.middle = nn.Linear(HIDDEN, HIDDEN)
        self.outer = nn.Linear(HIDDEN, 1)

    def forward(self, signals):
        swell = torch.tanh(self.inner(signals))
        pull = torch.tanh(self.middle(swell))
        return self.outer(pull)


class WarningGauge:
    """A slowly moving mean of the misfit, from which the warning limit follows."""

    def __init__(self, inertia=0.97):
        self.inertia = inertia
        self.misfit = torch.tensor(0.1)
        self.limit = 1.0

    def read(self, predicted, measured):
        error = (predicted - measured).square().mean()
        self.misfit = self.inertia * self.misfit + (1.0 - self.inertia) * error.detach()
        self.limit = 1.0 - min(0.5, float(self.misfit) ** 0.5)
        return self.limit


class TowTrainer:
    """Trains on one ship and reads the gauge on the other."""

    def __init__(self, recordings):
        torch.manual_seed(77)
        self.recordings = recordings
        self.net = StrainNet()
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=2e-3)
        self.gauge = WarningGauge()
        self.warnings = 0

    def learn(self):
        signals, strain = self.recordings.piece("bulk carrier")
        loss = (self.net(signals) - strain).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return float(loss)

    def watch(self):
        signals, strain = self.recordings.piece("drill ship")
        predicted = self.net(signals)
        limit = self.gauge.read(predicted, strain)
        self.warnings += int((predicted.abs() > limit).sum())
        return limit


def main():
    trainer = TowTrainer(TowRecordings(seed=404))
    started = printed = time.monotonic()
    rounds = 0
    while time.monotonic() - started < SECONDS:
        turn = time.monotonic()
        loss = trainer.learn()
        limit = trainer.watch()
        rounds += 1
        if turn - printed >= 3.0:
            printed = turn
            print(f"piece {rounds}: loss {loss:.4f}, limit {limit:.3f}, warnings {trainer.warnings}", flush=True)
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - turn)))
    print(f"towed {rounds} pieces, misfit {float(trainer.gauge.misfit):.4f}", flush=True)


if __name__ == "__main__":
    main()
