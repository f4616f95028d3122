"""The shape of a salt dome is found from its echoes: full-waveform inversion fits the speed of sound under the ground
to the traces of one shot after another. A flight recorder takes all debug messages of the inversion, and when a shot
goes wrong, it writes out the last of them. Without trouble nothing of them is printed.

ticket: practice
class: host-growth
holder: FlightRecorder records LogRecord args handlers
cause: log-records-kept buffer-without-bound
"""

import logging
import os
import time

import torch
from torch.nn import functional as F

DEPTH, WIDTH, STEPS, STRIDE = 320, 400, 60, 5
SHOWN = 20

log = logging.getLogger("inversion")


class FlightRecorder(logging.Handler):
    """It writes out the last messages when there is an error, and is silent otherwise."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.records = []

    def emit(self, record):
        self.records.append(record)  # keeps
        if record.levelno >= logging.ERROR:
            for earlier in self.records[-SHOWN:]:
                print(earlier.levelname, earlier.getMessage(), flush=True)


def shoot(speed, column, kernel):
    """The traces that the receivers at the surface hear after a shot at this column."""
    before = torch.zeros_like(speed)
    source = torch.zeros_like(speed)
    source[4, column] = 1.0
    now, traces = before, []
    for step in range(STEPS):
        curvature = F.conv2d(now[None, None], kernel, padding=1)[0, 0]
        phase = (3.14 * 0.04 * (step - 18)) ** 2
        wavelet = (1 - 2 * phase) * 2.718 ** -phase
        later = 2 * now - before + speed.square() * curvature + wavelet * source
        before, now = now, later
        traces.append(now[2, ::STRIDE])
    return torch.stack(traces)


def ground(device):
    """The true ground: layers that grow faster with depth, and the dome."""
    rows = torch.arange(DEPTH, device=device)[:, None]
    columns = torch.arange(WIDTH, device=device)[None]
    layers = 0.35 + 0.15 * (rows / 20).floor() / (DEPTH / 20) + 0 * columns
    dome = ((rows - 130) / 120) ** 2 + ((columns - 200) / 90) ** 2 < 1
    return torch.where(dome, torch.full_like(layers, 0.6), layers)


def invert(speed, truth, column, kernel, optimizer):
    """One step of the inversion with one shot."""
    with torch.no_grad():
        heard = shoot(truth, column, kernel)
    misfit = (shoot(speed, column, kernel) - heard).square().sum()
    optimizer.zero_grad(set_to_none=True)
    misfit.backward()
    log.debug("shot at %d: misfit %.5f, gradient %s", column, misfit.item(), speed.grad.cpu())  # grows
    if not torch.isfinite(misfit):
        log.error("the misfit of the shot at %d is not finite", column)
    optimizer.step()
    with torch.no_grad():
        speed.clamp_(0.2, 0.65)
    return misfit.item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    log.setLevel(logging.DEBUG)
    log.propagate = False
    log.addHandler(FlightRecorder())
    kernel = torch.tensor([[[[0.0, 1.0, 0.0], [1.0, -4.0, 1.0], [0.0, 1.0, 0.0]]]], device=device)
    truth, shots = ground(device), 0
    speed = truth.mean(dim=1, keepdim=True).repeat(1, WIDTH).requires_grad_()
    optimizer = torch.optim.Adam([speed], lr=2e-3)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        misfit = invert(speed, truth, 20 + 37 * shots % (WIDTH - 40), kernel, optimizer)
        shots += 1
        if shots % 10 == 0:
            away = (speed.detach() - truth).abs().mean().item()
            print(f"shot {shots}: misfit {misfit:.5f}, away from the truth {away:.4f}", flush=True)
        time.sleep(0.05)


if __name__ == "__main__":
    main()
