"""Reads a book aloud: a vocoder on the GPU makes the sound of each sentence, and a thread beside it packs the sound for
the file (mu-law, then zlib), so that the GPU needn't wait for that. A queue is between the two.

ticket: practice
class: host-growth
holder: queue sounds spoken deque Packer packer
cause: unbounded-queue buffer-without-bound
"""

import os
import queue
import random
import threading
import time
import zlib

import numpy as np
import torch
from torch import nn

RATE, HOP, BANDS = 24_000, 256, 48
SECONDS_LONG = (4, 6, 9)


class Vocoder(nn.Module):
    """From bands of a spectrogram to sound."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(BANDS, 64, 5, padding=2)
        self.second = nn.Conv1d(64, 64, 5, padding=4, dilation=2)
        self.out = nn.Conv1d(64, 2 * HOP, 1)

    @torch.inference_mode()
    def forward(self, bands):
        hidden = torch.relu(self.second(torch.relu(self.first(bands))))
        sound = torch.tanh(self.out(hidden))
        return sound.view(2, HOP, -1).transpose(1, 2).reshape(2, -1)


class Packer(threading.Thread):
    """Packs sounds, in the order in which they were spoken."""

    def __init__(self):
        super().__init__(daemon=True)
        self.spoken = queue.Queue()
        self.packed, self.bytes = 0, 0

    def run(self):
        while True:
            sound = self.spoken.get()
            if sound is None:
                return
            curved = np.sign(sound) * np.log1p(255 * np.abs(sound)) / np.log(256)
            for part in np.array_split((127 * curved).astype(np.int8), 8, axis=1):
                self.bytes += len(zlib.compress(part.tobytes(), 6))
                time.sleep(random.uniform(0.03, 0.06))
            self.packed += 1


def sentence():
    """The bands of a sentence, as the network before this one would give them."""
    frames = random.choice(SECONDS_LONG) * RATE // HOP
    pitch = torch.linspace(0, 40, frames) + torch.rand(BANDS, 1)
    return torch.sin(pitch)[None] + 0.2 * torch.randn(1, BANDS, frames)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    vocoder, packer, spoken, length = Vocoder().to(device).eval(), Packer(), 0, 0.0
    packer.start()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        sound = vocoder(sentence().to(device))
        packer.spoken.put(sound.cpu().numpy())  # grows keeps
        spoken, length = spoken + 1, length + sound.shape[1] / RATE
        if spoken % 15 == 0:
            print("sentences", spoken, "minutes", round(length / 60, 1), "packed", packer.packed, "MB",
                  round(packer.bytes / 1e6, 1), flush=True)
        time.sleep(random.uniform(0.05, 0.2))


if __name__ == "__main__":
    main()
