"""Listens to a glacier with geophones. The GPU makes a spectrogram of each block, which travels to the host through
pinned memory while the next block is being worked on. As soon as a spectrogram has arrived, the host compares its
loudest band with the usual one of its station and reports creaks.

ticket: practice
class: host-growth
holder: transfers Listener listener
cause: pinned-staging buffer-without-bound
"""

import os
import random
import time
from collections import deque
from dataclasses import dataclass

import cupy as cp
import cupyx
import numpy as np

FRAME, HOP, FRAMES = 1024, 256, 400
STATIONS = "moraine", "icefall", "tongue", "nunatak"


@dataclass
class Transfer:
    station: str
    spectrum: np.ndarray
    arrived: cp.cuda.Event
    judged: bool = False


class Listener:
    def __init__(self):
        self.stream = cp.cuda.Stream(non_blocking=True)
        self.window = cp.hanning(FRAME).astype(cp.float32)
        self.index = cp.arange(FRAMES)[:, None] * HOP + cp.arange(FRAME)[None, :]
        cp.cuda.Device().synchronize()
        self.usual = {station: deque(maxlen=50) for station in STATIONS}
        self.transfers = []
        self.blocks, self.creaks = 0, 0

    def listen(self, station, block):
        """Puts the work for a block into the stream, and comes back at once."""
        with self.stream:
            frames = cp.asarray(block)[self.index] * self.window
            power = cp.log1p(cp.abs(cp.fft.rfft(frames, axis=1)) ** 2).astype(cp.float32)
            spectrum = cupyx.empty_pinned(power.shape, dtype=np.float32)  # grows
            power.get(stream=self.stream, out=spectrum, blocking=False)
            arrived = cp.cuda.Event(disable_timing=True)
            arrived.record(self.stream)
        self.transfers.append(Transfer(station, spectrum, arrived))  # keeps
        self.blocks += 1

    def collect(self):
        """Judges the spectrograms that have arrived since the last time."""
        for transfer in self.transfers:
            if not transfer.judged and transfer.arrived.done:
                self.judge(transfer)
                transfer.judged = True

    def judge(self, transfer):
        bands = transfer.spectrum[:, :512].reshape(FRAMES, 32, 16).mean(axis=(0, 2))
        loudest, usual = float(bands.max()), self.usual[transfer.station]
        if len(usual) > 10 and loudest > np.mean(usual) + 3 * np.std(usual):
            self.creaks += 1
        usual.append(loudest)


def record(generator):
    """A block of ground noise, at times with a creak in it."""
    length = FRAME + HOP * (FRAMES - 1)
    block = generator.standard_normal(length, dtype=np.float32)
    if generator.random() < 0.05:
        start = int(generator.integers(length - 4000))
        block[start:start + 4000] += 6 * np.sin(np.arange(4000, dtype=np.float32) * 0.7)
    return block


def main():
    generator, listener = np.random.default_rng(), Listener()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for station in random.sample(STATIONS, 2):
            listener.listen(station, record(generator))
        listener.collect()
        if listener.blocks % 40 == 0:
            print(f"{listener.blocks} blocks, {listener.creaks} creaks", flush=True)
        time.sleep(random.uniform(0.08, 0.16))
    listener.stream.synchronize()
    listener.collect()
    print(f"{listener.creaks} creaks in {listener.blocks} blocks")


if __name__ == "__main__":
    main()
