"""A stamp dealer scans albums, and wants to know whether a stamp has been seen on the same sheet. A pool of threads
describes each scan by its patches; a scan that comes from two counters at once is described only once, and both
counters wait for the same future.

ticket: practice
class: none
"""

import hashlib
import os
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn
from torch.nn import functional as F

SIDE, WIDTH, COUNTERS = 192, 320, 3


class Patches(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 32, 4, stride=4), nn.GELU(), nn.Conv2d(32, WIDTH, 2, stride=2), nn.GELU(),
            nn.Conv2d(WIDTH, WIDTH, 1),
        )

    def forward(self, scans):
        return F.normalize(self.layers(scans).flatten(2).transpose(1, 2), dim=-1)


class Describer:
    def __init__(self, device):
        self.device, self.model = device, Patches().to(device).eval()
        self.threads = ThreadPoolExecutor(max_workers=2)
        self.lock, self.coming = threading.Lock(), {}
        self.described = 0

    def ask(self, scan):
        """A future of the description, which may be on its way for another counter."""
        digest = hashlib.sha1(scan.numpy().tobytes()).hexdigest()
        with self.lock:
            future = self.coming.get(digest)
            if future is None:
                future = self.threads.submit(self.describe, scan)
                self.coming[digest] = future
                future.add_done_callback(lambda _: self.coming.pop(digest, None))
        return future

    @torch.no_grad()
    def describe(self, scan):
        pixels = scan.to(self.device).float().div(255)
        self.described += 1
        return self.model(pixels[None])[0]


def likeness(first, second):
    """How many patches of the first have a near one in the second."""
    return (first @ second.T).max(dim=1).values.gt(0.95).float().mean().item()


def counter(describer, albums, end, found):
    """A person at a counter turns the pages, and lays each stamp beside the one before."""
    before = None
    for scan in albums:
        if time.time() > end:
            break
        description = describer.ask(scan).result()
        if before is not None and likeness(description, before) > 0.5:
            found.append(1)
            del found[:-100]
        before = description
        time.sleep(random.uniform(0.05, 0.2))


def album(seed):
    """Scans without end; counters with the same seed see the same stamps."""
    pages = torch.Generator().manual_seed(seed)
    while True:
        yield torch.randint(256, (3, SIDE, SIDE), dtype=torch.uint8, generator=pages)


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    describer, found = Describer("cuda" if torch.cuda.is_available() else "cpu"), []
    people = [threading.Thread(target=counter, args=(describer, album(n % 2), end, found)) for n in range(COUNTERS)]
    for person in people:
        person.start()
    while time.time() < end:
        time.sleep(1)
        print(describer.described, "stamps described,", len(found), "twins lately", flush=True)
    for person in people:
        person.join()
    describer.threads.shutdown()


if __name__ == "__main__":
    main()
