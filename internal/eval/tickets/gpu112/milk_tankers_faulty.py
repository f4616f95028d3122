"""Intake desk of a cheese dairy.

Milk tankers stop at the intake bays, where an infrared spectrometer reads a stream of samples. A shared trunk turns
each spectrum into features, and every tanker gets a calibration of its own that is fitted during its stop, since the
farms of its round differ in breed and fodder. The trunk goes on learning slowly from all tankers.

ticket: practice
class: app-leak
holder: optimizer param_groups
cause: optimizer-groups-added
"""
import os
import time
from dataclasses import dataclass, field

import torch
from torch import nn

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))

WAVELENGTHS = 640
FEATURES = 512
COMPOUNDS = 448          # fat, protein, casein fractions, lactose, fatty acids by chain length ...
SAMPLES = 24
BAYS = 2
STOP_ROUNDS = 10
ROUNDS_PER_SECOND = 10


class Trunk(nn.Module):
    """Spectrum to features, shared by all tankers."""

    def __init__(self):
        super().__init__()
        self.scale = nn.LayerNorm(WAVELENGTHS)
        self.hidden = nn.Linear(WAVELENGTHS, FEATURES)

    def forward(self, spectra):
        return torch.tanh(self.hidden(self.scale(spectra)))


@dataclass
class Stop:
    """One tanker at its bay."""

    tanker: int
    bay: int
    calibration: nn.Linear
    group: dict
    milk: torch.Tensor
    rounds_left: int
    losses: list = field(default_factory=list)


class Spectrometer:
    """Spectra of a tanker's milk with the lab values that belong to them."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.bands = torch.randn(COMPOUNDS, WAVELENGTHS, device=DEVICE, generator=self.generator) * 0.05

    def milk(self):
        return torch.rand(COMPOUNDS, device=DEVICE, generator=self.generator)

    def read(self, milk):
        spread = torch.randn(SAMPLES, COMPOUNDS, device=DEVICE, generator=self.generator)
        contents = milk + 0.1 * spread
        noise = torch.randn(SAMPLES, WAVELENGTHS, device=DEVICE, generator=self.generator)
        return contents @ self.bands + 0.01 * noise, contents


class IntakeDesk:
    def __init__(self, seed=11):
        torch.manual_seed(seed)
        self.spectrometer = Spectrometer(seed)
        self.trunk = Trunk().to(DEVICE)
        self.optimizer = torch.optim.Adam(self.trunk.parameters(), lr=2e-4)
        self.bays = {}
        self.tankers_seen = 0
        self.mean_error = 0.0

    def admit(self, bay):
        """Take the next tanker in and give it a fresh calibration."""
        self.tankers_seen += 1
        calibration = nn.Linear(FEATURES, COMPOUNDS).to(DEVICE)  # grows
        self.optimizer.add_param_group({"params": list(calibration.parameters()), "lr": 5e-3})  # keeps
        group = self.optimizer.param_groups[-1]
        stay = STOP_ROUNDS + self.tankers_seen % 3
        self.bays[bay] = Stop(self.tankers_seen, bay, calibration, group, self.spectrometer.milk(), stay)

    def fit_round(self):
        """One step over the samples of all bays."""
        self.optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for stop in self.bays.values():
            spectra, contents = self.spectrometer.read(stop.milk)
            predicted = stop.calibration(self.trunk(spectra))
            loss = nn.functional.smooth_l1_loss(predicted, contents)
            stop.losses.append(loss.item())
            total = total + loss
        total.backward()
        self.optimizer.step()  # grows keeps
        for stop in self.bays.values():
            stop.group["lr"] *= 0.95
            stop.rounds_left -= 1

    def discharge(self, stop):
        """The tanker leaves its bay; its last error enters the running mean."""
        self.mean_error += 0.1 * (stop.losses[-1] - self.mean_error)
        del self.bays[stop.bay]

    def turn(self):
        for bay in range(BAYS):
            if bay not in self.bays:
                self.admit(bay)
        self.fit_round()
        for stop in list(self.bays.values()):
            if stop.rounds_left <= 0:
                self.discharge(stop)


def main():
    desk = IntakeDesk()
    begin = time.monotonic()
    next_print = begin + 3.0
    while time.monotonic() - begin < SECONDS:
        started = time.monotonic()
        desk.turn()
        if started >= next_print:
            print(f"tankers {desk.tankers_seen}  error of calibration {desk.mean_error:.5f}", flush=True)
            next_print += 3.0
        time.sleep(max(0.005, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - started)))
    print(f"intake closed after {desk.tankers_seen} tankers, error {desk.mean_error:.5f}", flush=True)


if __name__ == "__main__":
    main()
