"""The desk of an opera house: sound comes from many microphones, block by block, a network sets how loud each has to be
in the hall, and all that came in is recorded. The recorder writes onto a tape in memory, and time and again what is new
on it is packed and handed to the archive.

ticket: practice
class: host-growth
holder: tape recorder Recorder
cause: buffer-without-bound results-kept
"""

import io
import os
import random
import threading
import time
import zlib

import numpy as np
import torch
from torch import nn

RATE, MICROPHONES, BLOCK = 48_000, 48, 9_600


class Archive:
    """Counts what it gets; the real one is in the cellar."""

    def __init__(self):
        self.parts = self.packed = self.checksum = 0

    def store(self, sound):
        packed = zlib.compress(sound[:1 << 16], 1)
        self.packed += len(packed) * len(sound) // (1 << 16)
        self.checksum = zlib.crc32(sound, self.checksum)
        self.parts += 1


class Recorder:
    """A tape that one side writes, and from which a thread takes what is new."""

    def __init__(self, archive):
        self.archive, self.tape, self.stored = archive, io.BytesIO(), 0
        self.lock, self.stop = threading.Lock(), threading.Event()
        threading.Thread(target=self.hand_over, name="recorder").start()

    def record(self, block):
        with self.lock:
            self.tape.seek(0, io.SEEK_END)
            self.tape.write(block.tobytes())  # grows keeps

    def take(self):
        with self.lock:
            self.tape.seek(self.stored)
            new = self.tape.read()
            self.stored += len(new)
        return new

    def hand_over(self):
        while not self.stop.wait(random.uniform(0.6, 1.5)):
            new = self.take()
            if new:
                self.archive.store(new)


class Mixer(nn.Module):
    """How loud each microphone is to be, from how loud all are."""

    def __init__(self):
        super().__init__()
        self.hear = nn.GRU(MICROPHONES, 96, batch_first=True)
        self.levels = nn.Linear(96, MICROPHONES)

    @torch.no_grad()
    def forward(self, block, state):
        loud = block.view(-1, 480, MICROPHONES).square().mean(1).sqrt()[None]
        heard, state = self.hear(loud, state)
        level = torch.sigmoid(self.levels(heard[0, -1]))
        return block @ level / MICROPHONES, state


def stage(moment):
    """Singers, each of whom is heard best at one microphone, and the orchestra."""
    time_of = (moment * BLOCK + np.arange(BLOCK, dtype=np.float32)) / RATE
    voices = np.sin(time_of[:, None] * np.linspace(600, 5000, MICROPHONES, dtype=np.float32))
    return (voices * np.random.rand(MICROPHONES) + 0.05 * np.random.randn(BLOCK, 1)).astype(np.float32)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    mixer, archive, state = Mixer().to(device).eval(), Archive(), None
    recorder, moment, said = Recorder(archive), 0, time.time()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        block = stage(moment)
        recorder.record(block)
        hall, state = mixer(torch.from_numpy(block).to(device), state)
        moment += 1
        if time.time() - said > 2:
            said = time.time()
            print("block", moment, "hall", round(float(hall.abs().mean()), 4), "parts", archive.parts, "packed",
                  archive.packed >> 20, "MiB", flush=True)
        time.sleep(random.uniform(0.1, 0.35))
    recorder.stop.set()


if __name__ == "__main__":
    main()
