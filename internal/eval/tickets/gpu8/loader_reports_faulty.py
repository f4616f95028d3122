"""Threads cut pictures for a network that is trained on the device, and report on the pictures by logging. A listener
of its own works off the reports, and packs their numbers; the queue between them takes in all that comes.

ticket: practice
class: host-growth
holder: waiting reports
cause: unbounded-queue log-records-kept
"""

import logging
import logging.handlers
import os
import queue
import random
import threading
import time
import zlib

import numpy as np
import torch
from scipy import stats
from torch import nn

LOG = logging.getLogger("loader")


class Reports(logging.handlers.QueueHandler):
    """Hands reports on, and drops what there is no room for."""

    dropped = 0

    def enqueue(self, record):
        try:
            self.queue.put_nowait(record)
        except queue.Full:
            self.dropped += 1


class Sheets(logging.Handler):
    """Packs the numbers of a report and says how they lie."""

    def __init__(self):
        super().__init__()
        self.count = self.size = 0

    def emit(self, record):
        self.size += len(zlib.compress(record.histogram.tobytes(), 9))
        lean = stats.skew(record.histogram, axis=None)
        self.count += 1
        time.sleep(0.15)  # the share that holds the sheets is slow
        if self.count % 20 == 0:
            print(record.getMessage(), "lean", round(float(lean), 3), "sheets", self.count, flush=True)


def cut(number, out, stop):
    numbers, done = np.random.default_rng(number), 0
    while not stop.is_set():
        pictures = numbers.integers(0, 256, (16, 3, 64, 64), dtype=np.uint8)
        edges = np.arange(257)
        histogram = np.stack([np.histogram(p, edges)[0] for p in pictures.reshape(48, -1)])  # grows
        done += 1
        LOG.info("loader %d batch %d", number, done, extra={"histogram": histogram})  # keeps
        try:
            out.put((pictures, numbers.integers(0, 10, 16)), timeout=0.5)
        except queue.Full:
            LOG.debug("loader %d waits", number)


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    waiting = queue.Queue()
    reports = Reports(waiting)
    LOG.addHandler(reports)
    LOG.setLevel(logging.INFO)
    LOG.propagate = False
    listener = logging.handlers.QueueListener(waiting, Sheets())
    threading.Thread(target=listener._monitor, daemon=True).start()
    batches, stop = queue.Queue(maxsize=6), threading.Event()
    threads = [threading.Thread(target=cut, args=(n, batches, stop), daemon=True) for n in range(3)]
    for thread in threads:
        thread.start()
    net = nn.Sequential(nn.Conv2d(3, 16, 5, 2), nn.ReLU(), nn.Conv2d(16, 32, 3, 2), nn.ReLU(),
                        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 10)).to(device)
    optimizer, step = torch.optim.AdamW(net.parameters()), 0
    while time.time() < end:
        pictures, kinds = batches.get()
        inputs = torch.from_numpy(pictures).to(device).float() / 255
        loss = nn.functional.cross_entropy(net(inputs), torch.from_numpy(kinds).to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 100 == 0:
            print("step", step, "loss", round(loss.item(), 3), "dropped", reports.dropped, flush=True)
        time.sleep(random.uniform(0.005, 0.03))
    stop.set()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
