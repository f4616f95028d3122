"""A chocolate factory checks its couverture with a temper meter, which cools a small sample and draws a curve.
This program trains a network that foretells the curve from the settings of the tempering machine, on lots drawn
at random. After each epoch it compares the residuals with those of the epoch before, band by band of the curve.

ticket: practice
class: app-leak
holder: epochs residuals
cause: results-kept
"""
import os
import time

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SETTINGS = 24
SAMPLES = 1024
BATCH = 128
STEPS_PER_EPOCH = 8
PAUSE = 0.09
BANDS = {"melt": slice(0, 256), "shoulder": slice(256, 640), "set": slice(640, SAMPLES)}


class TemperMeter:
    """Draws the cooling curves of lots with given machine settings."""

    def __init__(self, generator):
        self.generator = generator
        self.minutes = torch.linspace(0.0, 6.0, SAMPLES, device=DEVICE)
        self.sensitivity = torch.randn(SETTINGS, 3, device=DEVICE, generator=generator) / SETTINGS ** 0.5

    def lots(self):
        settings = torch.randn(BATCH, SETTINGS, device=DEVICE, generator=self.generator)
        speed, plateau, heat = (settings @ self.sensitivity).tanh().unbind(dim=1)
        fall = torch.exp(-self.minutes * (0.5 + 0.2 * speed).unsqueeze(1))
        bump = torch.exp(-((self.minutes - (2.6 + 0.5 * plateau).unsqueeze(1)) ** 2) * 3.0)
        curve = fall + (0.12 + 0.06 * heat).unsqueeze(1) * bump
        noise = torch.randn(BATCH, SAMPLES, device=DEVICE, generator=self.generator)
        return settings, curve.add_(noise, alpha=0.004)


class CurveNet(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(SETTINGS, width), nn.GELU(), nn.Linear(width, width), nn.GELU())
        self.curve = nn.Linear(width, SAMPLES)

    def forward(self, settings):
        return self.curve(self.body(settings))


class EpochReport:
    """What one epoch showed."""

    def __init__(self, number):
        self.number = number
        self.residuals = []
        self.loss = 0.0

    def add(self, residual, loss):
        self.residuals.append(residual)  # keeps
        self.loss += loss / STEPS_PER_EPOCH

    def band_errors(self):
        stacked = torch.stack([residual.abs().mean(dim=0) for residual in self.residuals]).mean(dim=0)
        return {name: float(stacked[part].mean()) for name, part in BANDS.items()}


class Trainer:
    def __init__(self, meter):
        self.meter = meter
        self.net = CurveNet().to(DEVICE)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=2e-3)
        self.epochs = []

    def step(self, report):
        settings, target = self.meter.lots()
        predicted = self.net(settings)
        loss = nn.functional.smooth_l1_loss(predicted, target, beta=0.05)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        residual = predicted.detach() - target  # grows
        report.add(residual, float(loss))

    def run_epoch(self, number, until):
        report = EpochReport(number)
        for _ in range(STEPS_PER_EPOCH):
            self.step(report)
            time.sleep(PAUSE)
            if time.monotonic() >= until:
                break
        self.epochs.append(report)  # keeps
        return report

    def compare(self):
        newest = self.epochs[-1].band_errors()
        before = self.epochs[-2].band_errors() if len(self.epochs) > 1 else newest
        return {name: (newest[name], newest[name] - before[name]) for name in BANDS}


def main():
    seconds = float(os.environ.get("SECONDS", "120"))
    torch.set_num_threads(1)
    torch.manual_seed(311)
    generator = torch.Generator(device=DEVICE).manual_seed(312)
    trainer = Trainer(TemperMeter(generator))
    until = time.monotonic() + seconds
    number = 0
    while time.monotonic() < until:
        number += 1
        report = trainer.run_epoch(number, until)
        change = trainer.compare()
        if number % 3 == 0:
            bands = ", ".join(f"{name} {now:.4f} ({by:+.4f})" for name, (now, by) in change.items())
            print(f"epoch {report.number}: loss {report.loss:.5f}; {bands}", flush=True)
    print(f"trained for {number} epochs of {STEPS_PER_EPOCH} lots on {DEVICE}", flush=True)


if __name__ == "__main__":
    main()
