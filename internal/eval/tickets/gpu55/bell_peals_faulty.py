"""A station listens to bell towers. Clips of any length come in from a feeder thread; each is laid into a page-locked
staging buffer, copied to the device from there, and a small network tells which peal is rung.

ticket: practice
class: host-growth
holder: buffers Staging
cause: pinned-staging cache-without-bound
"""

import logging
import os
import queue
import random
import threading
import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

log = logging.getLogger("bells")
PEALS = "rounds", "plain hunt", "grandsire", "stedman"


@dataclass(frozen=True)
class Station:
    rate: int = 24_000
    shortest: float = 1.5
    longest: float = 6.0
    microphones: int = 2
    towers: int = 12

    def samples(self):
        return int(self.rate * random.uniform(self.shortest, self.longest))


class Feeder(threading.Thread):
    def __init__(self, station, clips, end):
        super().__init__(daemon=True)
        self.station, self.clips, self.end = station, clips, end

    def run(self):
        noise = np.random.default_rng()
        while time.time() < self.end:
            clip = noise.standard_normal((self.station.microphones, self.station.samples()), dtype=np.float32)
            self.clips.put((random.randrange(self.station.towers), clip))
            time.sleep(random.uniform(0.05, 0.1))
        self.clips.put(None)


class Staging:
    """Page-locked buffers, for to lock pages takes long."""

    def __init__(self, pinned):
        self.pinned, self.buffers = pinned, {}

    def _size(self, clip):
        return clip.size

    def _buffer(self, size):
        if size not in self.buffers:
            buffer = torch.empty(size, pin_memory=self.pinned)  # grows
            self.buffers[size] = buffer  # keeps
        return self.buffers[size]

    def lay(self, clip):
        staged = self._buffer(self._size(clip))[:clip.size].view(clip.shape)
        staged.copy_(torch.from_numpy(clip))
        return staged


class Ear(nn.Module):
    def __init__(self, microphones):
        super().__init__()
        self.bands = nn.Sequential(nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.peal = nn.Linear(32 * microphones, len(PEALS))

    def forward(self, sound):
        frames = sound.unfold(1, 512, 512)
        return self.peal(self.bands(frames).mean(dim=1).flatten())


class Listener:
    def __init__(self, station, device):
        self.device, self.staging = device, Staging(pinned=device == "cuda")
        self.ear, self.heard = Ear(station.microphones).to(device).eval(), 0

    @torch.inference_mode()
    def hear(self, tower, clip):
        sound = self.staging.lay(clip).to(self.device, non_blocking=True)
        peal = PEALS[self.ear(sound).argmax().item()]
        self.heard += 1
        if self.heard % 50 == 0:
            log.info("clip %d, tower %d rings %s", self.heard, tower, peal)


def main():
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")
    torch.set_num_threads(1)
    end, clips = time.time() + float(os.environ.get("SECONDS", "45")), queue.Queue(maxsize=4)
    station = Station()
    listener = Listener(station, "cuda" if torch.cuda.is_available() else "cpu")
    Feeder(station, clips, end).start()
    for tower, clip in iter(clips.get, None):
        listener.hear(tower, clip)


if __name__ == "__main__":
    main()
