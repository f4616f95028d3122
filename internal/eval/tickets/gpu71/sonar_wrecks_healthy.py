"""A survey ship looks for wrecks with its sonar. A thread reads the swaths, whose lengths depend on the depth, copies
them to the device ahead of the search and hands them over in a small queue. Pinning memory is slow, so the thread
puts every swath into the same pinned memory.

ticket: practice
class: none
"""

import os
import queue
import threading
import time

import numpy as np
import torch

BEAMS, SHALLOW, DEEP, WINDOW = 24, 4_000, 40_000, 256


class Swaths:
    """Reads one swath after another: as many echoes for each beam as the depth asks for."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def read(self):
        echoes = int(self.rng.integers(SHALLOW, DEEP))
        swath = self.rng.standard_normal((BEAMS, echoes), dtype=np.float32)
        if self.rng.random() < 0.2:
            start = int(self.rng.integers(echoes - 500))
            swath[8:16, start : start + 500] += 2.0
        return swath


class Prefetcher(threading.Thread):
    def __init__(self, swaths, device, end):
        super().__init__(name="prefetcher")
        self.swaths, self.device, self.end = swaths, device, end
        self.ready = queue.Queue(maxsize=2)
        self.staging = torch.empty(BEAMS * DEEP, pin_memory=device == "cuda")

    def staged(self, swath):
        """Pinned memory with the swath in it."""
        pinned = self.staging[: swath.size].view(swath.shape)
        return pinned.copy_(torch.from_numpy(swath))

    def run(self):
        while time.time() < self.end:
            staged = self.staged(self.swaths.read())
            swath = torch.empty(staged.shape, device=self.device).copy_(staged, non_blocking=True)
            if self.device == "cuda":
                torch.cuda.current_stream().synchronize()
            self.ready.put(swath)
        self.ready.put(None)

    def __iter__(self):
        return iter(self.ready.get, None)


class Search:
    """Finds where the echoes of some beams are much louder than around."""

    def __init__(self, device):
        self.gains = torch.linspace(1.2, 0.8, BEAMS, device=device)[:, None]

    def loudness(self, swath):
        energy = (self.gains * swath).square()
        groups = energy.view(3, BEAMS // 3, -1).mean(1)
        return groups.unfold(1, WINDOW, WINDOW // 4).mean(2).flatten()

    def wreck(self, swath):
        loudness = self.loudness(swath)
        return bool(loudness.max() - loudness.mean() > 5 * loudness.std())


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    search, swaths, wrecks = Search(device), 0, 0
    prefetcher = Prefetcher(Swaths(11), device, end)
    prefetcher.start()
    for swath in prefetcher:
        wrecks += search.wreck(swath)
        swaths += 1
        if swaths % 25 == 0:
            print(f"{swaths} swaths, {wrecks} perhaps with a wreck", flush=True)
        time.sleep(0.12)
    prefetcher.join()


if __name__ == "__main__":
    main()
