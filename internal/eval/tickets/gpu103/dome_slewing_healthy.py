"""Learns how the dome of an observatory lags behind its drive while it slews.

The motor log gives current, wind, temperature and the last azimuths; a network predicts the azimuth
error a few seconds ahead. Each round fits one night of the log, then tries the network on a night set
aside, and the smoothed error of those trials decides how fast the fit goes on.

ticket: practice
class: none
"""
import os
import time

import torch
from torch import nn

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
CHANNELS = 24
HORIZON = 4
NIGHT = 768
NIGHTS = 16
ROUNDS_PER_SECOND = 6.0


class MotorLog:
    """Nights of telemetry from the dome drive, made from a stiff wheel on a gusty rail."""

    def __init__(self, seed: int):
        self._source = torch.Generator().manual_seed(seed)
        self._rail = torch.randn(CHANNELS, 32, generator=self._source) / CHANNELS ** 0.5
        self._wheel = torch.randn(32, HORIZON, generator=self._source) / 32 ** 0.5
        self.nights = [self._night() for _ in range(NIGHTS)]
        self.set_aside = [self._night() for _ in range(3)]

    def _night(self) -> tuple[torch.Tensor, torch.Tensor]:
        telemetry = torch.randn(NIGHT, CHANNELS, generator=self._source)
        lag = torch.sin(2.0 * telemetry @ self._rail) @ self._wheel
        lag = lag + 0.05 * torch.randn(NIGHT, HORIZON, generator=self._source)
        return telemetry.to(DEVICE), lag.to(DEVICE)


class LagModel(nn.Module):
    def __init__(self, width: int = 256):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(CHANNELS, width),
            nn.Tanh(),
            nn.Linear(width, width),
            nn.Tanh(),
            nn.Linear(width, HORIZON),
        )

    def forward(self, telemetry: torch.Tensor) -> torch.Tensor:
        return self.layers(telemetry)


class SlewFitter:
    """Fits the model night by night and eases the step when the trials get no better."""

    def __init__(self, model: LagModel, log: MotorLog):
        self.model = model
        self.log = log
        self.criterion = nn.MSELoss()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        self.held_out_error = torch.ones((), device=DEVICE)
        self.best = float("inf")
        self.rounds = 0
        self.patience = 0

    def fit_night(self) -> float:
        telemetry, lag = self.log.nights[self.rounds % NIGHTS]
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.criterion(self.model(telemetry), lag)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.rounds += 1
        return loss.item()

    def try_held_out(self) -> float:
        telemetry, lag = self.log.set_aside[self.rounds % len(self.log.set_aside)]
        self.model.eval()
        error = self.criterion(self.model(telemetry), lag).detach()
        self.model.train()
        self.held_out_error = torch.lerp(self.held_out_error, error, 0.1)
        return self.held_out_error.item()

    def ease_step(self, smoothed: float) -> None:
        if smoothed < self.best * 0.999:
            self.best, self.patience = smoothed, 0
            return
        self.patience += 1
        if self.patience >= 40:
            for group in self.optimizer.param_groups:
                group["lr"] = max(group["lr"] * 0.7, 1e-4)
            self.patience = 0

    @property
    def step(self) -> float:
        return self.optimizer.param_groups[0]["lr"]


def main() -> None:
    torch.manual_seed(360)
    fitter = SlewFitter(LagModel().to(DEVICE), MotorLog(seed=5))
    began = time.monotonic()
    next_report = began + 2.0
    loss = smoothed = 0.0
    while time.monotonic() - began < SECONDS:
        started = time.monotonic()
        loss = fitter.fit_night()
        smoothed = fitter.try_held_out()
        fitter.ease_step(smoothed)
        if started >= next_report:
            print(f"round {fitter.rounds}: fit {loss:.4f}, held out {smoothed:.4f}, step {fitter.step:.4f}", flush=True)
            next_report = started + 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - started)))
    print(f"dome parked after {fitter.rounds} rounds, held-out error {smoothed:.4f}", flush=True)


if __name__ == "__main__":
    main()
