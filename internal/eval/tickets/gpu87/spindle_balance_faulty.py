"""Balance of the spindles on a ring spinning frame.

Each spindle rail of the mill's ring frame has vibration pick-ups, one to a spindle. The readings of a rail come in
blocks; the spectrum of a block is worked out on the device, a small network grades the bands (good, worn bearing,
bent, loose whorl), and the height and place of the highest peak are kept for the spindle's card. A trace of the
work is written for the maintenance people, so that there is something to look at when a rail has been stopped by an
error.

ticket: practice
class: host-growth
holder: buffer args recorder
cause: log-records-kept
"""
import logging
import logging.handlers
import os
import time

import numpy as np
import torch
from torch import nn

SPINDLES = 96
SAMPLES = 8192
RATE = 20_000.0
BANDS = 64
RAILS = 12
BLOCKS_A_SECOND = 9
GRADES = ("good", "worn bearing", "bent", "loose whorl")

log = logging.getLogger("ringframe")


def build_trace():
    """The trace is put by until something goes wrong on the frame, and is written out then."""
    log.setLevel(logging.DEBUG)
    log.propagate = False
    sink = logging.StreamHandler(open(os.environ.get("RINGFRAME_TRACE", os.devnull), "w"))
    sink.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    recorder = logging.handlers.MemoryHandler(
        capacity=100_000, flushLevel=logging.ERROR, target=sink, flushOnClose=False
    )
    log.addHandler(recorder)


class PickUps:
    """Stands in for the converters: every spindle turns at its own speed and has its own fault."""

    def __init__(self, device):
        self.device = device
        self.seconds = torch.arange(SAMPLES, device=device) / RATE
        self.speed = 160.0 + 30.0 * torch.rand(RAILS, SPINDLES, 1, device=device)
        self.unbalance = torch.rand(RAILS, SPINDLES, 1, device=device) ** 3

    def block(self, rail):
        turn = 2 * torch.pi * self.speed[rail] * self.seconds
        signal = self.unbalance[rail] * torch.sin(turn) + 0.1 * torch.sin(3.07 * turn)
        return signal + 0.2 * torch.randn(SPINDLES, SAMPLES, device=self.device)


class BandGrader(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(BANDS, 128), nn.GELU(), nn.Linear(128, len(GRADES)))

    def forward(self, spectra):
        bands = spectra[:, : spectra.shape[1] // BANDS * BANDS].reshape(SPINDLES, BANDS, -1).mean(dim=2)
        return self.layers(torch.log1p(bands))


class SpindleCards:
    def __init__(self):
        self.peak = np.zeros((RAILS, SPINDLES), dtype=np.float32)
        self.place = np.zeros((RAILS, SPINDLES), dtype=np.float32)
        self.grade = np.zeros((RAILS, SPINDLES), dtype=np.int64)

    def write(self, rail, spectra, grades):
        highest = spectra.argmax(axis=1)
        self.peak[rail] = spectra[np.arange(SPINDLES), highest]
        self.place[rail] = highest * RATE / SAMPLES
        self.grade[rail] = grades


@torch.no_grad()
def examine(number, pickups, window, grader, cards):
    rail = number % RAILS
    block = pickups.block(rail)
    spectra = torch.fft.rfft(block * window, dim=1).abs() / SAMPLES
    grades = grader(spectra).argmax(dim=1)
    spectra = spectra.cpu().numpy()  # grows
    cards.write(rail, spectra, grades.cpu().numpy())
    log.debug("block %d of rail %d, spectra %s", number, rail, spectra)  # keeps
    worst = int(cards.peak[rail].argmax())
    if cards.peak[rail, worst] > 0.3:
        log.info("rail %d: spindle %d at %.0f Hz", rail, worst, cards.place[rail, worst])
    return rail, worst


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(3)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    build_trace()
    pickups = PickUps(device)
    window = torch.hann_window(SAMPLES, device=device)
    grader = BandGrader().to(device).eval()
    cards = SpindleCards()
    print(f"{RAILS} rails of {SPINDLES} spindles, on {device}", flush=True)

    number = 0
    due = time.time()
    while time.time() < deadline:
        rail, worst = examine(number, pickups, window, grader, cards)
        number += 1
        if number % 36 == 0:
            grade = GRADES[cards.grade[rail, worst]]
            print(f"block {number}: rail {rail}, spindle {worst} shakes most "
                  f"({cards.peak[rail, worst]:.3f} at {cards.place[rail, worst]:.0f} Hz, {grade})", flush=True)
        due += 1 / BLOCKS_A_SECOND
        pause = due - time.time()
        if pause > 0:
            time.sleep(pause)
        else:
            due = time.time()
    print(f"{number} blocks examined", flush=True)


if __name__ == "__main__":
    main()
