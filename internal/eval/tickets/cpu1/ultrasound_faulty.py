"""An ultrasound probe hands over lines of echoes, and a thread makes pictures of them with a filter that takes longer
than the probe takes to bring the next. What is not yet filtered waits in a queue that has no end.

ticket: practice
class: host-growth
holder: raw queue pipeline
cause: unbounded-queue buffer-without-bound
"""

import os
import queue
import random
import threading
import time

import numpy as np

LINES, DEPTH = 96, 768


def echoes(chance, moment):
    """One sweep of the probe: tissue, and the wall of a vessel that moves with the pulse."""
    depth = int(DEPTH * random.uniform(0.85, 1.15))
    sweep = chance.standard_normal((LINES, depth), dtype=np.float32)  # grows
    wall = int(depth * (0.5 + 0.05 * np.sin(7.5 * moment)))
    sweep[:, wall - 6:wall + 6] += 6.0
    sweep *= np.exp(-np.arange(depth, dtype=np.float32) / depth)
    return sweep


class Pipeline:
    """Takes sweeps from the probe's thread and shows pictures from its own."""

    def __init__(self):
        self.raw = queue.Queue()
        self.stopped = threading.Event()
        self.shown, self.dropped, self.depth = 0, 0, 0.0
        self.worker = threading.Thread(target=self.work, name="imaging", daemon=True)
        self.worker.start()

    def deliver(self, sweep, moment):
        self.raw.put((moment, sweep))  # keeps

    def work(self):
        while not self.stopped.is_set():
            try:
                moment, sweep = self.raw.get(timeout=0.2)
            except queue.Empty:
                continue
            picture = self.image(sweep)
            self.depth = float(picture.mean(0).argmax()) / picture.shape[1]
            self.shown += 1

    def image(self, sweep):
        """The envelope of each line, compressed, and smoothed over the neighbours for every angle of the compound."""
        depth = sweep.shape[1]
        spectrum = np.fft.fft(sweep, axis=1)
        spectrum[:, 1:(depth + 1) // 2] *= 2
        spectrum[:, (depth + 1) // 2:] = 0
        envelope = np.abs(np.fft.ifft(spectrum, axis=1)).astype(np.float32)
        picture = np.zeros_like(envelope)
        for angle in (-2, -1, 0, 1, 2):
            picture += np.roll(envelope, angle, axis=0) / 5
            time.sleep(0.02)
        return 20 * np.log10(picture + 1e-3)

    def close(self):
        self.stopped.set()
        self.worker.join()


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    start = told = time.time()
    chance, pipeline, sweeps = np.random.default_rng(), Pipeline(), 0
    while time.time() < end:
        moment = time.time() - start
        pipeline.deliver(echoes(chance, moment), moment)
        sweeps += 1
        if time.time() - told > 2:
            print("sweeps", sweeps, "shown", pipeline.shown, "passed over", pipeline.dropped, "wall at",
                  round(pipeline.depth, 3), flush=True)
            told = time.time()
        time.sleep(random.uniform(0.02, 0.05))
    pipeline.close()


if __name__ == "__main__":
    main()
