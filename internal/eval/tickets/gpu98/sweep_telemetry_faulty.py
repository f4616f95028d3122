"""Telemetry of sweep oars during a long regatta day.

Gates on the riggers send force, angle and boat speed of every oar several times a second. A recurrent network follows
the form of each rower through the day and tells the coach's launch how hard the rower could still go. Between readings
it is fitted to short pieces whose ergometer power is known.

ticket: practice
class: app-leak
holder: form
cause: uncut-autograd-graph
"""
import os
import time

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
ROWERS = 256
CHANNELS = 12
FORM = 128
PIECE = 6
READINGS_A_SECOND = 8


class FormNet(nn.Module):
    """Follows the form of rowers from one reading to the next."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(CHANNELS, 256)
        self.cell = nn.GRUCell(256, FORM)
        self.power = nn.Linear(FORM, 1)

    def forward(self, reading, form):
        return self.cell(torch.tanh(self.gate(reading)), form)

    def reserve(self, form):
        return torch.sigmoid(self.power(form)).squeeze(-1)


class Riggers:
    """Source of readings: each rower has a rhythm, a strength and a way to tire."""

    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)
        self.strength = torch.rand(ROWERS, 1, generator=generator).to(DEVICE)
        self.mixing = torch.randn(ROWERS, CHANNELS, generator=generator).to(DEVICE)
        self.rate = (0.4 + 0.2 * torch.rand(ROWERS, 1, generator=generator)).to(DEVICE)
        self.strokes = torch.randn(96, ROWERS, 1, CHANNELS * 24, generator=generator).to(DEVICE) * 0.05
        self.tick = 0

    def read(self):
        self.tick += 1
        phase = torch.sin(self.rate * self.tick)
        noise = self.strokes[self.tick % len(self.strokes), :, 0, :CHANNELS]
        return self.mixing * phase * self.strength + noise

    def ergometer(self, number):
        start = (number * 5) % (len(self.strokes) - PIECE)
        noise = self.strokes[start:start + PIECE, :, 0, -CHANNELS:]
        beats = torch.arange(PIECE, device=DEVICE).view(PIECE, 1, 1)
        return self.mixing * torch.sin(self.rate * beats) * self.strength + noise, self.strength.squeeze(-1)


class Launch:
    """The coach's launch: follows all rowers and keeps the network fitted."""

    def __init__(self, riggers):
        self.riggers = riggers
        self.net = FormNet().to(DEVICE)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=2e-3)
        self.form = torch.zeros(ROWERS, FORM, device=DEVICE)
        self.readings = 0
        self.pieces = 0

    def follow(self):
        form = self.net(self.riggers.read(), self.form)  # grows
        self.form = form  # keeps
        self.readings += 1
        return self.net.reserve(form).mean().item()

    def fit(self):
        readings, power = self.riggers.ergometer(self.pieces)
        form = torch.zeros(ROWERS, FORM, device=DEVICE)
        for reading in readings:
            form = self.net(reading, form)
        loss = nn.functional.mse_loss(self.net.reserve(form), power)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.pieces += 1
        return loss.item()

    @torch.no_grad()
    def tired(self, count):
        reserve = self.net.reserve(self.form)
        return reserve.argsort()[:count].tolist()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(8)
    launch = Launch(Riggers(seed=19))
    end = time.monotonic() + SECONDS
    report_at = time.monotonic() + 2.0
    reserve = loss = 0.0
    while time.monotonic() < end:
        began = time.monotonic()
        reserve = launch.follow()
        if launch.readings % 4 == 0:
            loss = launch.fit()
        if time.monotonic() >= report_at:
            print(f"reading {launch.readings}: mean reserve {reserve:.3f}, fit {loss:.4f}, "
                  f"watch rowers {launch.tired(4)}", flush=True)
            report_at += 3.0
        time.sleep(max(0.0, 1.0 / READINGS_A_SECOND - (time.monotonic() - began)))
    print(f"day over: {launch.readings} readings, {launch.pieces} pieces fitted, last loss {loss:.4f}", flush=True)


if __name__ == "__main__":
    main()
