"""Microphones in eight beehives send a few seconds of hum at a time. An autoencoder says how unusual a hum is, and
each reading is logged with its spectrum. The log holds the last records in memory, so that when a hive gives an alarm,
its latest spectra can be compared.

ticket: practice
class: none
"""

import logging
import logging.handlers
import os
import random
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

HIVES, RATE, LENGTH = 8, 8000, 32_000
BANDS, HOP, RECENT = 512, 250, 16
ALARM = 1.16

log = logging.getLogger("hives")
log.setLevel(logging.DEBUG)
log.propagate = False


class HumCoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.narrow = nn.Sequential(nn.Conv1d(BANDS + 1, 96, 5, stride=2, padding=2), nn.GELU(), nn.Conv1d(96, 16, 1))
        self.widen = nn.Sequential(nn.Conv1d(16, 96, 1), nn.GELU(), nn.Conv1d(96, BANDS + 1, 1))

    def forward(self, spectra):
        wide = F.interpolate(self.narrow(spectra), size=spectra.shape[-1])
        return self.widen(wide)


class Station:
    def __init__(self, device):
        self.device = device
        self.coder = HumCoder().to(device).eval()
        self.window = torch.hann_window(2 * BANDS, device=device)
        self.recent = logging.handlers.MemoryHandler(RECENT, flushLevel=logging.CRITICAL, target=logging.NullHandler())
        log.addHandler(self.recent)
        self.usual = None

    @torch.no_grad()
    def listen(self, hums):
        """How unusual the hums are, and their spectra on the host."""
        spectra = torch.stft(hums.to(self.device), 2 * BANDS, HOP, window=self.window, return_complex=True)
        spectra = spectra.abs().log1p()
        errors = (self.coder(spectra) - spectra).square().mean(dim=(1, 2))
        mean = errors.mean().item()
        self.usual = mean if self.usual is None else 0.9 * self.usual + 0.1 * mean
        return (errors / self.usual).tolist(), [spectrum.cpu().numpy().copy() for spectrum in spectra]

    def note(self, hive, strangeness, spectrum):
        log.debug("hive %d: %.3f", hive, strangeness, extra={"hive": hive, "spectrum": spectrum})

    def compare(self, hive):
        """How much the latest spectra of a hive differ from each other."""
        latest = [record.spectrum for record in self.recent.buffer[-RECENT:] if record.hive == hive]
        return float(np.std([spectrum.mean() for spectrum in latest])) if latest else 0.0


def hum():
    """A few seconds of a hive's hum, now and then a louder one."""
    steps = torch.arange(LENGTH) / RATE
    tone = torch.sin(2 * torch.pi * random.uniform(190, 260) * steps)
    return random.choice([0.4, 0.5, 0.5, 0.6]) * tone + 0.1 * torch.randn(LENGTH)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    station, rounds, alarms = Station(device), 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        strange, spectra = station.listen(torch.stack([hum() for _ in range(HIVES)]))
        for hive, (strangeness, spectrum) in enumerate(zip(strange, spectra)):
            station.note(hive, strangeness, spectrum)
            if strangeness > ALARM:
                alarms += 1
                if alarms % 10 == 1:
                    print(f"alarm {alarms} in hive {hive}: {station.compare(hive):.4f}", flush=True)
        rounds += 1
        if rounds % 20 == 0:
            print(rounds, "rounds", flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
