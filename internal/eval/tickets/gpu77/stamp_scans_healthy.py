"""A service for stamp collectors: they hand in scans of old stamps, which are sharpened and freed of the postmark. A
scan is put into a pool of two worker threads at once and the collector gets a number, with which the finished picture
is asked for later. Here three collectors work at the same time.

ticket: practice
class: none
"""

import itertools
import os
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn
from torch.nn import functional as F

SIZES = (512, 640, 768)
COLLECTORS = "Agnes", "Bertram", "Cosima"


class Restorer(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.look = nn.Conv2d(3, width, 5, padding=2)
        self.paint = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, scan):
        return (scan + 0.1 * self.paint(F.relu(self.look(scan)))).clamp(0, 1)


class Studio:
    """Takes scans, works on them in the background and hands the pictures out."""

    def __init__(self, device):
        self.device = device
        self.model = Restorer().to(device).eval()
        self.workers = ThreadPoolExecutor(max_workers=2, thread_name_prefix="restorer")
        self.numbers = itertools.count(1)
        self.jobs = {}
        self.lock = threading.Lock()

    @torch.inference_mode()
    def restore(self, scan):
        picture = self.model(scan.to(self.device)[None])[0]
        low, high = picture.amin(), picture.amax()
        return (picture - low) / (high - low + 1e-6)

    def hand_in(self, scan):
        future = self.workers.submit(self.restore, scan)
        with self.lock:
            number = next(self.numbers)
            self.jobs[number] = future
        return number

    def ready(self, number):
        with self.lock:
            return self.jobs[number].done()

    def collect(self, number):
        with self.lock:
            future = self.jobs.pop(number)
        return future.result()


def collector(name, studio, end):
    """Hands in a scan, waits for the picture, looks at it and does so again."""
    looked = 0
    while time.time() < end:
        size = random.choice(SIZES)
        number = studio.hand_in(torch.rand(3, size, size))
        while not studio.ready(number):
            time.sleep(0.02)
        picture = studio.collect(number)
        looked += 1
        if looked % 8 == 0:
            print(f"{name} has number {number}, {size} pixels wide, brightness {picture.mean().item():.3f}", flush=True)
        time.sleep(random.uniform(0.4, 0.9))


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    studio = Studio(device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    threads = [threading.Thread(target=collector, args=(name, studio, end)) for name in COLLECTORS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    studio.workers.shutdown()
    print("closed for today", flush=True)


if __name__ == "__main__":
    main()
