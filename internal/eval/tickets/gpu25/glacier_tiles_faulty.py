"""Satellite tiles of glaciers come in bursts and are searched for crevasses. The tiles of a burst are decoded and
uploaded by four threads; each thread has a staging buffer in pinned memory of its own, as uploads from it are faster.
The buffers are noted, so that they can be wiped when the service closes (the tiles are licensed).

ticket: practice
class: host-growth
holder: buffers staging Uploader
cause: pinned-staging registered-for-the-end
"""

import os
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import nn

BANDS, SIDE, THREADS = 4, 256, 4


class Crevasses(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(BANDS, 16, 5, stride=2, padding=2), nn.ReLU(), nn.Conv2d(16, 1, 3))

    def forward(self, tiles):
        return torch.sigmoid(self.layers(tiles)).amax(dim=(1, 2, 3))


class Uploader:
    def __init__(self, device):
        self.device = device
        self.local = threading.local()
        self.buffers = []

    def staging(self):
        """The staging buffer of this thread."""
        if not hasattr(self.local, "staging"):
            pinned = self.device == "cuda"
            self.local.staging = torch.zeros(BANDS, SIDE, SIDE, pin_memory=pinned)  # grows
            self.buffers.append(self.local.staging)  # keeps
        return self.local.staging

    def upload(self, packed):
        """Decodes a packed tile and returns it on the device."""
        staging = self.staging()
        staging.copy_(torch.from_numpy(packed.reshape(BANDS, SIDE, SIDE))).div_(255)
        time.sleep(random.uniform(0.005, 0.02))
        return staging.to(self.device, copy=True)

    def upload_all(self, burst):
        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(self.upload, burst))

    def close(self):
        for staging in self.buffers:
            staging.zero_()


class Watch:
    def __init__(self, device):
        self.uploader = Uploader(device)
        self.model = Crevasses().to(device).eval()
        self.seen = self.found = 0

    @torch.inference_mode()
    def search(self, burst):
        tiles = torch.stack(self.uploader.upload_all(burst))
        chances = self.model(tiles).tolist()
        self.seen += len(chances)
        self.found += sum(chance > 0.55 for chance in chances)


def main():
    torch.set_num_threads(1)
    watch, bursts = Watch("cuda" if torch.cuda.is_available() else "cpu"), 0
    size = BANDS * SIDE * SIDE
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        burst = [np.random.randint(0, 256, size, dtype=np.uint8) for _ in range(random.randint(4, 12))]
        watch.search(burst)
        bursts += 1
        if bursts % 20 == 0:
            print(f"{bursts} bursts, {watch.seen} tiles, crevasses in {watch.found}", flush=True)
        time.sleep(random.uniform(0.15, 0.35))
    watch.uploader.close()


if __name__ == "__main__":
    main()
