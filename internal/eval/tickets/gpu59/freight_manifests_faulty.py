"""Scores freight manifests on the GPU for a customs gateway. Three intake threads parse manifests (a few hundred to a
few thousand consignments each, FEATURES floats a line) into pinned staging memory; one worker copies them across
without blocking and runs the risk model. Page-locking is slow, so staging memory goes to a free list, not to the OS.

ticket: practice
class: host-growth
holder: StagingPool free staging
cause: size-class-misses pinned-staging pool-never-trims
"""

from __future__ import annotations

import logging
import os
import queue
import random
import signal
import sys
import threading
import time
from collections import defaultdict
from contextlib import contextmanager

import torch

FEATURES = 96
LINES_MIN, LINES_MAX = 300, 4_000
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

log = logging.getLogger("customs")


class StagingPool:
    """Thread-safe free lists of page-locked buffers, by size in bytes."""

    def __init__(self, pinned: bool) -> None:
        self._pinned = pinned
        self._lock = threading.Lock()
        self._free: dict[int, list[torch.Tensor]] = defaultdict(list)
        self.hits = self.misses = 0

    def acquire(self, nbytes: int) -> torch.Tensor:
        with self._lock:
            if self._free[nbytes]:
                self.hits += 1
                return self._free[nbytes].pop()
            self.misses += 1
        return torch.zeros(nbytes, dtype=torch.uint8, pin_memory=self._pinned)  # grows

    def release(self, buffer: torch.Tensor) -> None:
        with self._lock:
            self._free[buffer.numel()].append(buffer)  # keeps


@contextmanager
def timed(stats: dict[str, float], key: str):
    start = time.perf_counter()
    try:
        yield
    finally:
        stats[key] += time.perf_counter() - start


def intake(pool: StagingPool, jobs: queue.Queue, stop: threading.Event, seed: int) -> None:
    rng = random.Random(seed)
    while not stop.is_set():
        lines = rng.randint(LINES_MIN, LINES_MAX)
        buffer = pool.acquire(lines * FEATURES * 4)
        rows = buffer[:lines * FEATURES * 4].view(torch.float32).view(lines, FEATURES)
        rows.uniform_(-1.0, 1.0)
        while not stop.is_set():
            try:
                jobs.put((buffer, rows), timeout=0.2)
                break
            except queue.Full:
                continue
        stop.wait(rng.expovariate(7.0))


def main() -> int:
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    torch.set_num_threads(1)
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())

    pool = StagingPool(pinned=DEVICE.type == "cuda")
    jobs: queue.Queue = queue.Queue(maxsize=8)
    threads = [threading.Thread(target=intake, args=(pool, jobs, stop, seed), daemon=True) for seed in range(3)]
    model = torch.nn.Sequential(torch.nn.Linear(FEATURES, 256), torch.nn.GELU(), torch.nn.Linear(256, 1)).to(DEVICE)
    stats: dict[str, float] = defaultdict(float)
    for thread in threads:
        thread.start()

    while time.time() < deadline and not stop.is_set():
        buffer, rows = jobs.get()
        with timed(stats, "gpu"), torch.inference_mode():
            risk = torch.sigmoid(model(rows.to(DEVICE, non_blocking=True)))
            stats["held"] += (risk > 0.6).sum().item()
        pool.release(buffer)
        stats["manifests"] += 1
        if stats["manifests"] % 100 == 0:
            log.info("manifests=%d held=%d hits=%d misses=%d gpu=%.1fs", stats["manifests"], stats["held"],
                     pool.hits, pool.misses, stats["gpu"])
    stop.set()
    return 0


if __name__ == "__main__":
    sys.exit(main())
