"""Expansion joints of a motorway bridge, by the sound of the axles that cross them.

Microphones under the deck record each axle. The recording becomes a spectrogram, a set of bands is compared with
the sound of a tight joint, and a loose joint raises an alarm. The log has the details of the recordings around an
alarm: they wait in a memory handler until one comes, and are then summed up in a table.

ticket: practice
class: none
"""
import itertools
import logging
import logging.handlers
import math
import os
import time

import numpy as np
import torch

RATE = 32000
SAMPLES = 65536
WINDOW = 512
HOP = 128
JOINTS = ["north abutment", "pier two", "pier five", "south abutment"]
RECORDINGS_A_SECOND = 6.0
EARLIER = 12

log = logging.getLogger("joints")


class AlarmTable(logging.Handler):
    """The mean loudness of the details that came before an alarm, for each joint."""

    def __init__(self):
        super().__init__()
        self.loudness = {}

    def emit(self, record):
        spectrogram = getattr(record, "spectrogram", None)
        if spectrogram is not None:
            before = self.loudness.get(record.joint, 0.0)
            self.loudness[record.joint] = 0.9 * before + 0.1 * float(spectrogram.mean())


def set_up_logging():
    table = AlarmTable()
    waiting = logging.handlers.MemoryHandler(
        EARLIER, flushLevel=logging.WARNING, target=table, flushOnClose=False)
    log.addHandler(waiting)
    log.setLevel(logging.DEBUG)
    log.propagate = False
    return table


def recordings(device):
    """An endless row of axles: the joint, the load in tonnes and the samples."""
    source = torch.Generator().manual_seed(53)
    clock = torch.arange(SAMPLES, device=device) / RATE
    for number in itertools.count():
        joint = number % len(JOINTS)
        tonnes = 2.0 + 9.0 * torch.rand(1, generator=source).item()
        play = 0.2 + 0.15 * joint + 0.002 * tonnes
        thump = torch.exp(-9.0 * clock) * torch.sin(2 * math.pi * (70.0 + 4.0 * joint) * clock)
        rattle = torch.exp(-4.0 * clock) * torch.sin(2 * math.pi * 2300.0 * clock) * play
        hiss = torch.randn(SAMPLES, generator=source).to(device) * 0.05
        yield JOINTS[joint], tonnes, tonnes * (thump + rattle) + hiss


def spectrum(samples, window):
    bins = torch.stft(samples, WINDOW, HOP, window=window, return_complex=True)
    return torch.log1p(bins.abs())


def looseness(spectrogram):
    """The rattle of the plates against the thump of the wheel."""
    low = spectrogram[:6].mean()
    high = spectrogram[30:44].mean()
    return (high / (low + 1e-6)).item()


def listen(joint, tonnes, samples, window):
    spectrogram = spectrum(samples, window)
    value = looseness(spectrogram)
    details = spectrogram.cpu().numpy().astype(np.float64)
    log.debug("axle of %.1f t", tonnes, extra={"joint": joint, "spectrogram": details})
    if value > 0.75:
        log.warning("rattle of %.2f", value, extra={"joint": joint})
    return value


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    table = set_up_logging()
    window = torch.hann_window(WINDOW, device=device)
    levels = dict.fromkeys(JOINTS, 0.0)
    next_report = time.time() + 3
    for joint, tonnes, samples in recordings(device):
        due = time.time() + 1.0 / RECORDINGS_A_SECOND
        value = listen(joint, tonnes, samples, window)
        levels[joint] = 0.8 * levels[joint] + 0.2 * value
        if time.time() > next_report:
            next_report += 3
            row = ", ".join(f"{name} {level:.2f}" for name, level in levels.items())
            print(f"looseness: {row}; {len(table.loudness)} joints in the table", flush=True)
        if time.time() > end:
            break
        time.sleep(max(0.0, due - time.time()))
    log.critical("end of the watch")


if __name__ == "__main__":
    main()
