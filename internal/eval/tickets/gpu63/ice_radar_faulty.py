"""Looks into a glacier with a radar that a sledge tows. A thread takes the sweeps from the antenna; they are compressed
on the device and searched for the bed of the ice. A flight recorder keeps the debug records, which hold the echo
profiles, in memory and writes them out if something goes wrong, or at the end.

ticket: practice
class: host-growth
holder: buffer recorder MemoryHandler LogRecord
cause: log-records-kept
"""

import logging
import logging.handlers
import os
import queue
import threading
import time

import torch

CHANNELS, SAMPLES, PULSE = 48, 4096, 256
RECORDS = 1_000_000
log = logging.getLogger("radar")


class Antenna(threading.Thread):
    """Hands over a sweep of all channels each twentieth of a second."""

    def __init__(self, pulse, sweeps):
        super().__init__(daemon=True)
        self.pulse, self.sweeps, self.running = pulse, sweeps, True

    def run(self):
        depth = 1500.0
        while self.running:
            depth = min(3500.0, max(600.0, depth + 20.0 * torch.randn(()).item()))
            sweep = 0.5 * torch.randn(CHANNELS, SAMPLES)
            sweep[:, int(depth):int(depth) + PULSE] += self.pulse
            try:
                self.sweeps.put(sweep, timeout=1.0)
            except queue.Full:
                continue
            time.sleep(0.05)


class Compressor:
    """Compresses the pulse in each channel by its matched filter."""

    def __init__(self, pulse, device):
        self.device = device
        self.match = torch.fft.rfft(pulse.to(device), n=2 * SAMPLES).conj()

    def __call__(self, sweep):
        spectrum = torch.fft.rfft(sweep.to(self.device), n=2 * SAMPLES)
        echo = torch.fft.irfft(spectrum * self.match, n=2 * SAMPLES)[:, :SAMPLES]
        return echo.abs()


def recorder():
    """What keeps the records until one is an error."""
    target = logging.StreamHandler()
    target.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    return logging.handlers.MemoryHandler(RECORDS, logging.ERROR, target)


def find_bed(number, echo):
    """How deep the bed lies, by the sum of the channels."""
    profiles = echo.cpu().numpy()  # grows
    log.debug("sweep %d: profiles %s", number, profiles)  # keeps
    total = profiles[:, 300:].sum(axis=0)
    place = int(total.argmax()) + 300
    if not total.max() > 0:
        log.error("sweep %d: no echo at all", number)
    return place


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    log.setLevel(logging.DEBUG)
    log.propagate = False
    log.addHandler(recorder())
    times = torch.linspace(0.0, 1.0, PULSE)
    pulse = torch.sin(6.283 * (10.0 * times + 40.0 * times ** 2))
    sweeps = queue.Queue(maxsize=4)
    antenna, compress = Antenna(pulse, sweeps), Compressor(pulse, device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    antenna.start()
    number = 0
    while time.time() < end:
        bed = find_bed(number, compress(sweeps.get()))
        number += 1
        if number % 50 == 0:
            print(f"sweep {number}: the bed lies {0.84 * bed:.0f} m deep", flush=True)
    antenna.running = False
    antenna.join(2.0)


if __name__ == "__main__":
    main()
