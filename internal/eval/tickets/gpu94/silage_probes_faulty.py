"""Gas probes in the silage clamps of a farm.

A reader thread collects a block of samples from the probes of one clamp after another and hands it over through
a queue. Blocks are decoded to volts, filtered, and shown to a small network on the accelerator that learns to
forecast the fermentation gas of the coming minutes from the minutes before. Probes fail often in the wet: a
block with a shorted or a drifting probe is put aside, and the console names the latest troubles for the farmer.

ticket: practice
class: host-growth
holder: put_aside __traceback__
cause: exception-kept
"""
import os
import queue
import threading
import time
from collections import Counter, deque

import numpy as np
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"

CLAMPS = ("north", "south", "yard", "lane")
PROBES = 6
SAMPLES = 24576
BLOCKS_PER_SECOND = 12.0
WINDOW = 256


class ProbeTrouble(ValueError):
    def __init__(self, clamp, probe, what):
        super().__init__(f"{clamp} clamp, probe {probe}: {what}")
        self.clamp = clamp


class ProbeReader(threading.Thread):
    """Reads the clamps in turn, at the pace of the field bus."""

    def __init__(self):
        super().__init__(name="probe-reader", daemon=True)
        self.blocks = queue.Queue(maxsize=6)
        self.halt = threading.Event()
        self.rng = np.random.default_rng(21)
        self.phase = 0.0

    def sample(self):
        t = self.phase + np.arange(SAMPLES) / 4096.0
        self.phase = t[-1]
        gas = np.sin(t / 3.0) + 0.4 * np.sin(t * 1.7)
        counts = 8192 + 2500 * gas + self.rng.normal(0.0, 60.0, size=(PROBES, SAMPLES))
        trouble = self.rng.random()
        if trouble < 0.2:
            counts[self.rng.integers(PROBES), SAMPLES // 2:] = 16383
        elif trouble < 0.45:
            counts[self.rng.integers(PROBES)] += np.linspace(0.0, 3500.0, SAMPLES)
        return counts.clip(0, 16383).astype(np.uint16).tobytes()  # grows

    def run(self):
        turn = 0
        while not self.halt.is_set():
            block = (CLAMPS[turn % len(CLAMPS)], self.sample())
            turn += 1
            try:
                self.blocks.put(block, timeout=1.0)
            except queue.Full:
                continue
            self.halt.wait(1.0 / BLOCKS_PER_SECOND)


def decode(clamp, payload):
    """Volts of a block, a row for each probe; raises ProbeTrouble where a probe cannot be trusted."""
    volts = np.frombuffer(payload, dtype=np.uint16).reshape(PROBES, SAMPLES).astype(np.float64)
    volts = volts * (10.0 / 16384.0)  # grows
    for probe, row in enumerate(volts):
        if np.count_nonzero(row > 9.99) > SAMPLES // 8:
            raise ProbeTrouble(clamp, probe, "shorted")
        head, tail = row[:SAMPLES // 4].mean(), row[-SAMPLES // 4:].mean()
        others = np.median(volts[:, -SAMPLES // 4:].mean(axis=1) - volts[:, :SAMPLES // 4].mean(axis=1))
        if abs(tail - head - others) > 0.5:
            raise ProbeTrouble(clamp, probe, f"drifts by {tail - head - others:+.2f} V")
    return volts


class Forecaster:
    def __init__(self):
        self.net = nn.Sequential(nn.Conv1d(PROBES, 32, 9, stride=4), nn.ReLU(), nn.Conv1d(32, 32, 9, stride=4),
                                 nn.ReLU(), nn.Flatten(), nn.Linear(448, PROBES)).to(device)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)

    def learn(self, volts):
        series = torch.from_numpy((volts - 5.0).astype(np.float32)).to(device)
        windows = series.unfold(1, WINDOW, WINDOW).permute(1, 0, 2)
        loss = (self.net(windows[:-1]) - windows[1:].mean(dim=-1)).square().mean()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.item()


class ClampWatch:
    def __init__(self):
        self.forecaster = Forecaster()
        self.losses = deque(maxlen=40)
        self.put_aside = []
        self.troubles = Counter()

    def take(self, clamp, payload):
        try:
            self.losses.append(self.forecaster.learn(decode(clamp, payload)))
        except ProbeTrouble as trouble:
            self.troubles[trouble.clamp] += 1
            self.put_aside.append(trouble)  # keeps

    def show(self):
        loss = sum(self.losses) / max(1, len(self.losses))
        print(f"loss {loss:.4f}; troubles {dict(self.troubles)}; latest: {self.put_aside[-1:]}", flush=True)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    reader, watch, shown = ProbeReader(), ClampWatch(), time.time()
    reader.start()
    while time.time() < end:
        watch.take(*reader.blocks.get(timeout=10.0))
        if time.time() - shown > 3.0:
            shown = time.time()
            watch.show()
    reader.halt.set()


if __name__ == "__main__":
    main()
