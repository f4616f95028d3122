"""Clicks of sperm whales in the recordings of a hydrophone: each recording is cleaned by wavelet shrinkage (Haar, eight
levels, soft threshold from the finest level) and the clicks are the peaks that remain. Recordings are handed to two
workers as they come in, and the tally is printed now and then.

ticket: practice
class: none
"""

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

SAMPLES, LEVELS = 1 << 17, 8
ROOT = 2**0.5


class Cleaned:
    def __init__(self, station, trace, clicks):
        self.station, self.trace, self.clicks = station, trace, clicks


def record(rng):
    """A recording: the noise of the sea, with some clicks."""
    trace = rng.standard_normal(SAMPLES).astype(np.float32)
    for start in rng.integers(0, SAMPLES - 64, rng.integers(3, 12)):
        trace[start : start + 64] += 12 * np.exp(-np.arange(64) / 16) * np.cos(np.arange(64))
    return trace


def forward(signal):
    """The Haar coefficients: the coarse part and the details, the finest first."""
    details = []
    for _ in range(LEVELS):
        even, odd = signal[0::2], signal[1::2]
        details.append((even - odd) / ROOT)
        signal = (even + odd) / ROOT
    return signal, details


def backward(signal, details):
    for detail in reversed(details):
        signal = torch.stack(((signal + detail) / ROOT, (signal - detail) / ROOT), dim=1).flatten()
    return signal


@torch.no_grad()
def clean(station, trace, device):
    coarse, details = forward(torch.from_numpy(trace).to(device))
    noise = details[0].abs().median() / 0.6745
    threshold = noise * (2 * np.log(SAMPLES)) ** 0.5
    shrunk = [detail.sign() * (detail.abs() - threshold).clamp_min(0) for detail in details]
    cleaned = backward(torch.zeros_like(coarse), shrunk)
    loud = cleaned.abs().view(-1, 64).amax(1) > 4 * noise
    cleaned = cleaned.double().cpu().numpy()
    return Cleaned(station, cleaned, int(loud.sum()))


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rng, jobs, handed, clicks, loudest = np.random.default_rng(5), [], 0, 0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    with ThreadPoolExecutor(2) as workers:
        while time.time() < end:
            station = random.choice(("Azores", "Kaikoura", "Andenes"))
            jobs.append(workers.submit(clean, station, record(rng), device))
            handed += 1
            if handed % 10 == 0:
                done = [job.result() for job in jobs[-10:]]
                clicks += sum(cleaned.clicks for cleaned in done)
                loudest = max(loudest, max(np.abs(cleaned.trace).max() for cleaned in done))
                jobs.clear()
                print(f"{handed} recordings: {clicks} clicks, loudest {loudest:.1f}", flush=True)
            time.sleep(random.uniform(0.05, 0.12))


if __name__ == "__main__":
    main()
