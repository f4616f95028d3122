"""Watches the sway of the gondolas of a cableway. A model foretells the strain gauges of each car from the window
before, and the error is written to the log. The last few records are also shown on the status page, with the worst
gauge of each, which is looked up in the record's own residual.

ticket: practice
class: host-growth
holder: records StatusPage residual
cause: log-records-kept buffer-without-bound
"""

import logging
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

GAUGES, SAMPLES, CARS, SHOWN = 48, 4096, 12, 5
log = logging.getLogger("cableway")


class Foreteller(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(GAUGES, 64, 9, padding=4), nn.GELU(), nn.Conv1d(64, GAUGES, 9, padding=4)
        )

    def forward(self, window):
        return window + self.layers(window)


class StatusPage(logging.Handler):
    """Shows the last records of the log."""

    def __init__(self):
        super().__init__(logging.INFO)
        self.records = []

    def emit(self, record):
        if hasattr(record, "residual"):
            self.records.append(record)  # keeps

    def lines(self):
        for record in list(self.records)[-SHOWN:]:
            worst = abs(record.residual).mean(axis=1).argmax()
            yield f"{record.getMessage()} (gauge {worst})"


class Car:
    """Stands in for the gauges of one car: a pendulum in the wind, seen at many places."""

    def __init__(self, number):
        self.number, self.phase = number, random.random()
        self.gains = torch.rand(GAUGES, 1) + 0.5

    def window(self, device):
        self.phase += 0.37
        times = torch.linspace(self.phase, self.phase + 8, SAMPLES)
        sway = torch.sin(2 * torch.pi * 0.3 * times) + 0.3 * torch.sin(2 * torch.pi * 1.1 * times)
        return (self.gains * sway + 0.05 * torch.randn(GAUGES, SAMPLES)).to(device)


def watch(model, optimizer, car, device):
    """Learns from two windows of a car and logs how far off the model was."""
    before, after = car.window(device)[None], car.window(device)[None]
    guess = model(before)
    loss = F.mse_loss(guess, after)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    residual = (guess.detach() - after)[0].cpu().numpy()  # grows
    log.info("car %d is off by %.4f", car.number, loss.item(), extra={"residual": residual})


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    page = StatusPage()
    log.setLevel(logging.INFO)
    log.propagate = False
    log.addHandler(page)
    cars = [Car(number) for number in range(CARS)]
    model = Foreteller().to(device)
    optimizer, windows = torch.optim.Adam(model.parameters(), lr=1e-3), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        watch(model, optimizer, random.choice(cars), device)
        windows += 1
        if windows % 20 == 0:
            print(f"-- after {windows} windows", *page.lines(), sep="\n   ", flush=True)
        time.sleep(random.uniform(0.04, 0.1))


if __name__ == "__main__":
    main()
