"""Clips of speech are brought to one loudness on the host before a model on the device hears them. The loudness is
estimated from percentiles of all that came so far.

ticket: practice
class: host-growth
holder: heard
cause: results-kept cache-without-bound
"""

import os
import random
import time

import numpy as np
import torch
from torch import nn


class Loudness:
    """Estimates how loud clips are as a rule."""

    def __init__(self):
        self.heard, self.count, self.level = [], 0, 0.1

    def add(self, clip):
        self.count += 1
        self.heard.append(clip)  # keeps
        if self.count % 25 == 0:
            drawn = random.sample(self.heard, min(len(self.heard), 20))
            self.level = float(np.mean([np.percentile(np.abs(c), 95) for c in drawn]))

    def adjust(self, clip):
        return clip * np.float32(0.3 / max(self.level, 1e-4))


def microphone(random_numbers):
    """A clip of one to three seconds, as float32."""
    length = int(16000 * random.uniform(1, 3))
    tone = np.sin(np.arange(length) * random.uniform(0.02, 0.3)) * random.uniform(0.05, 0.5)
    return (tone + 0.02 * random_numbers.normal(size=length)).astype(np.float32)  # grows


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Sequential(nn.Conv1d(1, 32, 80, 40), nn.ReLU(), nn.Conv1d(32, 64, 5, 2), nn.ReLU(),
                          nn.AdaptiveAvgPool1d(8), nn.Flatten(), nn.Linear(512, 30)).to(device).eval()
    loudness, random_numbers = Loudness(), np.random.default_rng(4)
    staging = torch.zeros(8, 1, 48000, pin_memory=device == "cuda")
    while time.time() < end:
        staging.zero_()
        for row in range(random.randint(2, 8)):
            clip = microphone(random_numbers)
            loudness.add(clip)
            staging[row, 0, :len(clip)] = torch.from_numpy(loudness.adjust(clip))
        with torch.inference_mode():
            words = model(staging.to(device)).argmax(1).tolist()
        if random.random() < 0.02:
            print(loudness.count, "clips at", round(loudness.level, 3), words, flush=True)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
