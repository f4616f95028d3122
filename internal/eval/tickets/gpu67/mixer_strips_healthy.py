"""Four stages of a festival, one desk. When an act plugs in, it gets a channel strip with a four-second stereo tape and
a peak meter that refreshes itself twice a second; every block that comes down the line is checked for rumble and hiss
on the card, and when the act unplugs the strip is closed.

ticket: practice
class: none
"""

import asyncio
import os
import random
import time

import numpy as np
import torch
import torchaudio

RATE = 48_000
TAPE = 4 * RATE
BLOCK = RATE // 4
STAGES = "main", "tent", "river", "barn"


def decibels(x):
    return 20 * np.log10(max(float(x), 1e-6))


class Strip:
    """One channel of the desk."""

    def __init__(self, name, rng):
        self.name = name
        self.tape = rng.standard_normal((2, TAPE), dtype=np.float32)
        self.tape *= 1e-4  # the noise floor of the preamps
        self.peak = self.held = 0.0
        self.meter()

    def meter(self):
        self.peak = np.abs(self.tape[:, -BLOCK:]).max()
        self.held = max(self.held * 0.9, self.peak)
        self.timer = asyncio.get_running_loop().call_later(0.5, self.meter)

    def record(self, block):
        self.tape[:, :-BLOCK] = self.tape[:, BLOCK:].copy()
        self.tape[:, -BLOCK:] = block

    def close(self):
        self.timer.cancel()
        return f"{self.name}: held peak {decibels(self.held):.1f} dBFS"


class Analyser:
    def __init__(self, device):
        self.device = device
        self.mel = torchaudio.transforms.MelSpectrogram(RATE, n_fft=1024, n_mels=64).to(device)

    @torch.no_grad()
    def listen(self, block):
        bands = self.mel(torch.from_numpy(block).to(self.device)).mean(dim=(0, 2))
        total = bands.sum() + 1e-9
        return (bands[:4].sum() / total).item(), (bands[-16:].sum() / total).item()


def line_in(rng, pitch, start):
    moments = (start + np.arange(BLOCK)) / RATE
    tone = 0.4 * np.sin(2 * np.pi * pitch * moments) + 0.1 * np.sin(6 * np.pi * pitch * moments)
    return (tone + 0.02 * rng.standard_normal((2, BLOCK))).astype(np.float32)


async def stage(name, analyser, rng, end, counts):
    act = 0
    while time.time() < end:
        act += 1
        strip = Strip(f"{name}/{act}", rng)
        pitch = rng.uniform(80, 900)
        for number in range(random.randint(2, 5)):
            block = line_in(rng, pitch, number * BLOCK)
            strip.record(block)
            rumble, hiss = analyser.listen(block)
            counts["rumble"] += rumble > 0.5
            counts["hiss"] += hiss > 0.2
            await asyncio.sleep(0.25)
        line = strip.close()
        counts["acts"] += 1
        if counts["acts"] % 12 == 0:
            print(line, counts, flush=True)


async def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    analyser = Analyser("cuda" if torch.cuda.is_available() else "cpu")
    counts = {"acts": 0, "rumble": 0, "hiss": 0}
    rng = np.random.default_rng()
    await asyncio.gather(*(stage(name, analyser, rng, end, counts) for name in STAGES))


if __name__ == "__main__":
    asyncio.run(main())
