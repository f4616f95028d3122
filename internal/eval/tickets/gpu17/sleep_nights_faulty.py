"""Scores nights in a sleep laboratory. A night comes in windows of half a minute from many electrodes; each window is
filtered on the host, and a network says from it and the two before how deep the sleep is. When a night is over, its
hypnogram goes to the doctor and the next one begins.

ticket: practice
class: host-growth
holder: windows Night
cause: buffer-without-bound results-kept
"""

import os
import random
import time

import numpy as np
import torch
from torch import nn

STAGES = ("awake", "light", "deep", "dream")
ELECTRODES, SAMPLES, CONTEXT = 64, 30 * 128, 3


class Sleep(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv1d(ELECTRODES, 16, 65, stride=16), nn.GELU(),
                                  nn.Conv1d(16, 24, 9, stride=4), nn.GELU())
        self.stage = nn.Linear(24 * CONTEXT, len(STAGES))

    def forward(self, windows):
        return self.stage(self.body(windows).mean(-1).flatten())


class Night:
    """One person's night, so far."""

    windows = []
    stages = ""

    def __init__(self, person):
        self.person, self.deep = person, 0

    def add(self, window):
        self.windows.append(window)  # keeps

    def recent(self):
        """The last windows; at the beginning of a night the first one stands in for what was before."""
        last = self.windows[-CONTEXT:]
        return np.stack([last[0]] * (CONTEXT - len(last)) + last)

    def scored(self, stage):
        self.stages += STAGES[stage][0]
        self.deep += STAGES[stage] == "deep"


def filtered(raw):
    """Without the slow drift of the electrodes, and all of them on one scale."""
    sums = np.cumsum(raw, 1, dtype=np.float64)
    drift = (sums[:, 128:] - sums[:, :-128]) / 128
    clean = raw - np.pad(drift, ((0, 0), (64, 64)), mode="edge").astype(np.float32)
    return clean / (clean.std(1, keepdims=True) + 1e-3)  # grows


def electrodes(depth):
    """Half a minute of waves, slow ones when the sleep is deep."""
    moments = np.arange(SAMPLES, dtype=np.float32) / 128
    wave = np.sin(2 * np.pi * (10 - 8 * depth) * moments + np.random.uniform(0, 6, (ELECTRODES, 1)).astype(np.float32))
    return wave + np.random.normal(0, 1, SAMPLES).astype(np.float32) + 0.2 * moments


def main():
    torch.set_num_threads(1)
    torch.manual_seed(6)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, person, said = Sleep().to(device).eval(), 0, time.time()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        person += 1
        night, depth = Night(person), 0.0
        for _ in range(random.randint(20, 40)):
            depth = min(1.0, max(0.0, depth + random.uniform(-0.2, 0.25)))
            night.add(filtered(electrodes(depth)))
            with torch.no_grad():
                night.scored(int(model(torch.from_numpy(night.recent()).to(device)).argmax()))
            if time.time() > end:
                break
            time.sleep(random.uniform(0.03, 0.15))
        if time.time() - said > 2:
            said = time.time()
            print("person", night.person, "deep for", night.deep / 2, "minutes", night.stages, flush=True)


if __name__ == "__main__":
    main()
