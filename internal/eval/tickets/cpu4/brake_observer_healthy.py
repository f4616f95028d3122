"""Observer for lift brakes under repair.

The workshop has a bench on which the brakes of many lifts are exercised side by side. A recurrent cell, trained
elsewhere, follows the drum signals of the bench and carries a belief about each brake from tick to tick. A small
readout on top of the belief is calibrated on the spot against the torque gauge of the bench.

ticket: practice
class: none
"""
import os
import time

import torch
from torch import nn

torch.set_num_threads(1)

LIFTS = 48
CHANNELS = 24
BELIEF = 384
TICKS_PER_SECOND = 8


class Bench:
    """Signals of the brakes on the bench: a worn drum hums lower and louder."""

    def __init__(self, generator):
        self.generator = generator
        self.wear = torch.rand(LIFTS, 1, generator=generator)
        self.phase = torch.rand(LIFTS, CHANNELS, generator=generator) * 6.28

    def measure(self, tick):
        self.wear = (self.wear + 0.0004).clamp(max=1.0)
        hum = torch.sin(self.phase + tick * (0.9 - 0.4 * self.wear))
        noise = torch.randn(LIFTS, CHANNELS, generator=self.generator)
        return hum * (0.5 + self.wear) + 0.1 * noise

    def torque(self):
        noise = torch.randn(LIFTS, 1, generator=self.generator)
        return 40.0 * (1.0 - 0.6 * self.wear) + 0.3 * noise

    def replace_lining(self, lift):
        self.wear[lift] = 0.05


class BrakeObserver(nn.Module):
    """Recurrent cell with a belief for each lift, and the readout that turns the belief into a torque."""

    def __init__(self):
        super().__init__()
        self.inlet = nn.Linear(CHANNELS, 96)
        self.cell = nn.GRUCell(96, BELIEF)
        self.readout = nn.Linear(BELIEF, 1)
        self.belief = torch.zeros(LIFTS, BELIEF)

    def follow(self, signal):
        squeezed = torch.tanh(self.inlet(signal))
        self.belief = self.cell(squeezed, self.belief).detach()
        return self.belief

    def torque(self, belief):
        return 30.0 + 10.0 * self.readout(belief)


class Calibrator:
    """Fits the readout, and only the readout, to the gauge."""

    def __init__(self, observer):
        self.observer = observer
        self.optimizer = torch.optim.Adam(observer.readout.parameters(), lr=0.003)
        self.error = 0.0

    def fit(self, belief, gauge):
        guess = self.observer.torque(belief.detach())
        loss = nn.functional.mse_loss(guess, gauge)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.error = 0.95 * self.error + 0.05 * loss.item()
        return guess.detach()


def ticks(end):
    """Numbers of the ticks of the bench, at an even pace, until the end of the shift."""
    number, due = 0, time.time()
    while time.time() < end:
        yield number
        number += 1
        due += 1.0 / TICKS_PER_SECOND
        time.sleep(max(0.0, due - time.time()))


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.manual_seed(3)
    bench = Bench(torch.Generator().manual_seed(8))
    observer = BrakeObserver()
    calibrator = Calibrator(observer)
    relined = 0
    for tick in ticks(end):
        belief = observer.follow(bench.measure(tick))
        guess = calibrator.fit(belief, bench.torque())
        if tick % 40 == 20:
            weakest = int(guess.argmin())
            bench.replace_lining(weakest)
            relined += 1
        if tick % 24 == 0:
            print(f"tick {tick} error {calibrator.error:.2f} mean torque {guess.mean().item():.1f} Nm "
                  f"relined {relined}", flush=True)
    print(f"shift over, {relined} linings replaced", flush=True)


if __name__ == "__main__":
    main()
