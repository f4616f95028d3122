"""Around a quarry, stations record how the ground shakes when there is a blast. A model says for each record where the
waves arrive; threads work out the spectra beside it, for the operators' screen. The program was begun with asyncio, and
so the threads are asked through its loop, which is run for each blast until they are done.

ticket: python/cpython#85865
class: none
"""

import asyncio
import concurrent.futures
import os
import random
import threading
import time

import numpy as np
import torch
from torch import nn

LENGTHS, WINDOW, HOP = (6000, 9000, 12000), 512, 32


class Picker(nn.Module):
    """How likely it is, sample by sample, that the first or the second wave arrives."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv1d(3, 16, 15, 2, 7), nn.ReLU(), nn.Conv1d(16, 16, 15, 2, 7), nn.ReLU(),
                                    nn.Conv1d(16, 2, 15, 1, 7))

    @torch.no_grad()
    def pick(self, record, device):
        shaken = torch.from_numpy(record).to(device)[None]
        likely = self.layers(shaken / shaken.abs().amax()).softmax(-1)
        return (4 * likely.argmax(-1)[0]).tolist()


class Screen:
    """What the operators see: the spectrum of the last record, and how strong the strongest tone was."""

    def __init__(self):
        self.lock, self.shown, self.strongest = threading.Lock(), None, 0.0

    def spectrum(self, record):
        frames = np.lib.stride_tricks.sliding_window_view(record[2], WINDOW)[::HOP]
        power = np.abs(np.fft.rfft(frames * np.hanning(WINDOW).astype(np.float32)))
        power = np.log1p(power).astype(np.float32)
        with self.lock:
            self.shown, self.strongest = power[:, ::8].mean(0), float(power.max())
        return power


class Network:
    def __init__(self, device):
        self.device, self.picker, self.screen = device, Picker().to(device).eval(), Screen()
        self.loop = asyncio.new_event_loop()
        self.pool = concurrent.futures.ThreadPoolExecutor(2)

    def blast(self, records):
        asked = [self.loop.run_in_executor(self.pool, self.screen.spectrum, record) for record in records]
        picks = [self.picker.pick(record, self.device) for record in records]
        self.loop.run_until_complete(asyncio.wait(asked))
        return picks


def shake():
    """What a station records: quiet, then two waves that fade away."""
    length = random.choice(LENGTHS)
    at, first = np.arange(length, dtype=np.float32), random.uniform(0.2, 0.4) * length
    record = 0.02 * np.random.randn(3, length).astype(np.float32)
    for arrives, strong, tone in ((first, 0.5, 0.3), (1.4 * first, 1.0, 0.15)):
        after = np.clip(at - arrives, 0, None)
        record += strong * np.sin(tone * after) * np.exp(-after / 900) * np.random.rand(3, 1).astype(np.float32)
    return record


def main():
    torch.set_num_threads(1)
    network, blasts = Network("cuda" if torch.cuda.is_available() else "cpu"), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        picks = network.blast([shake() for _ in range(random.randint(4, 8))])
        blasts += 1
        if blasts % 5 == 0:
            print("blast", blasts, "picks", picks[0], "strongest", round(network.screen.strongest, 2), flush=True)
        time.sleep(random.uniform(0.2, 0.6))
    network.pool.shutdown()


if __name__ == "__main__":
    main()
