"""Recordings of any length are cleaned by a filter on their spectrum. The transform has the exact length of the
recording, and the library keeps what it prepared for each length.

ticket: pytorch/pytorch#94893
class: driver-growth
holder:
cause: per-shape-compile-cache library-workspaces driver-internal-growth cache-without-bound pipeline-cache -
"""

import os
import random
import time

import torch
from torch import nn


class Cleaner(nn.Module):
    """Learned gains for bands of the spectrum."""

    def __init__(self, bands=64):
        super().__init__()
        self.gains = nn.Sequential(nn.Linear(bands, 128), nn.ReLU(), nn.Linear(128, bands), nn.Sigmoid())
        self.bands = bands

    def forward(self, wave):
        size = wave.shape[-1]
        spectrum = torch.fft.rfft(wave, n=size)  # grows
        power = nn.functional.adaptive_avg_pool1d(spectrum.abs()[None], self.bands)
        gains = self.gains(power.log1p())
        gains = nn.functional.interpolate(gains, size=spectrum.shape[-1], mode="linear")[0]
        return torch.fft.irfft(spectrum * gains, n=size)[..., :wave.shape[-1]]


def recording():
    seconds = random.uniform(9, 24)
    length = int(seconds * 16000) | 1
    return torch.randn(1, length) * 0.1 + torch.sin(torch.arange(length) * random.uniform(0.01, 0.2))


@torch.inference_mode()
def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    cleaner, done = Cleaner().to(device).eval(), 0
    while time.time() < end:
        cleaned = cleaner(recording().to(device)).cpu()
        done += 1
        if done % 20 == 0:
            print(done, "recordings", round(float(cleaned.std()), 4), flush=True)
        time.sleep(0.35)


if __name__ == "__main__":
    main()
