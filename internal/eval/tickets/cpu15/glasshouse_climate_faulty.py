"""
The climate of a glasshouse is forecast for a grid of points under the roof from the state of vents,
screens and heating pipes. The model learns on the run from the readings that come in. A panel shows the
running error of the forecast, by which the grower decides when to leave the vents to the model.

ticket: practice
class: host-growth
holder: running_error
cause: uncut-autograd-graph
"""
import os
import time

import torch

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
ACTUATORS = 32
POINTS = 224
BAYS = 8
BATCH = 30
HIDDEN = 24
PANEL_SECONDS = 10


class ClimateNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(ACTUATORS, HIDDEN)
        self.outer = torch.nn.Linear(HIDDEN, POINTS)

    def forward(self, actuators):
        return self.outer(torch.tanh(self.inner(actuators)))


class Glasshouse:
    """Simulates air temperatures that follow vents, screens and pipes with some inertia."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.response = torch.randn((ACTUATORS, POINTS), generator=self.generator) / ACTUATORS ** 0.5
        self.outside = 0.0
        self.archive = torch.rand((365, 24, 288), generator=self.generator)

    def readings(self, elapsed):
        day = int(elapsed) % len(self.archive)
        self.outside = 0.9 * self.outside + 0.1 * float(self.archive[day].mean())
        actuators = torch.rand((BATCH, ACTUATORS), generator=self.generator)
        noise = torch.randn((BATCH, POINTS), generator=self.generator)
        return actuators, torch.sin(actuators @ self.response) + self.outside + 0.05 * noise


class ErrorPanel:
    """The running mean of the forecast's error, with the level at the last full reading."""

    def __init__(self, decay=0.98):
        self.decay = decay
        self.running_error = torch.zeros(BAYS)
        self.level = 0.0

    def update(self, error, full_reading):
        if full_reading:
            error = error.detach()
            self.level = float(error.mean())
        self.running_error = self.decay * self.running_error + (1.0 - self.decay) * error  # keeps

    def text(self):
        return f"error {float(self.running_error.mean()):.4f}  level {self.level:.4f}"


class VentControl:
    """Opens the vents a little further where the forecast is warm."""

    def __init__(self):
        self.openings = torch.zeros(POINTS)

    @torch.no_grad()
    def set(self, forecast):
        warm = forecast.mean(dim=0)
        self.openings.mul_(0.9).add_(0.1 * torch.sigmoid(warm))

    def mean_opening(self):
        return float(self.openings.mean())


class Forecaster:
    def __init__(self, seed=29):
        torch.manual_seed(seed)
        self.house = Glasshouse(seed)
        self.net = ClimateNet()
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.panel = ErrorPanel()
        self.vents = VentControl()

    def round(self, elapsed):
        actuators, readings = self.house.readings(elapsed)
        forecast = self.net(actuators)
        bays = zip(forecast.chunk(BAYS, dim=1), readings.chunk(BAYS, dim=1))
        error = torch.stack([(guess - real).abs().mean() for guess, real in bays])  # grows
        loss = torch.nn.functional.mse_loss(forecast, readings)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.panel.update(error, int(elapsed) % PANEL_SECONDS == 0)
        self.vents.set(forecast)


def main():
    torch.set_num_threads(1)
    forecaster = Forecaster()
    start = time.monotonic()
    next_line = start + 2.0
    rounds = 0
    while True:
        begun = time.monotonic()
        if begun - start >= SECONDS:
            break
        forecaster.round(begun - start)
        rounds += 1
        if begun >= next_line:
            next_line += 4.0
            opening = forecaster.vents.mean_opening()
            print(
                f"{begun - start:6.1f} s  round {rounds}  {forecaster.panel.text()}  vents {opening:.2f}",
                flush=True,
            )
        spent = time.monotonic() - begun
        time.sleep(max(0.005, 1.0 / ROUNDS_PER_SECOND - spent))
    print(f"{rounds} rounds, {forecaster.panel.text()}", flush=True)


if __name__ == "__main__":
    main()
