"""Ride comfort of a night train.

Accelerometers on the leading and the trailing bogie of a sleeping car send a block of samples ten times a second. One
thread receives the blocks, another weighs them by the comfort filter and works out how much of the vibration reaches
the berths. The guard sees a line with the comfort index every few seconds. Where the evaluation cannot follow, single
blocks may be left out, for the index moves slowly.

ticket: practice
class: app-leak
holder: blocks
cause: unbounded-queue
"""
import os
import queue
import threading
import time
from dataclasses import dataclass

import cupy as cp
import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))

SETTINGS = {
    "blocks_per_s": 10.0,
    "evaluations_per_s": 10.0,
    "backlog_blocks": 24,
    "report_s": 3.0,
}
BOGIES = ("leading", "trailing")
SENSORS, SAMPLES = 150, 1024


@dataclass
class Block:
    bogie: str
    serial: int
    samples: cp.ndarray


class Pace:
    """Keeps a loop to a number of rounds a second."""

    def __init__(self, per_s):
        self.period = 1.0 / per_s
        self.due = time.monotonic()

    def wait(self):
        self.due += self.period
        time.sleep(max(0.0, self.due - time.monotonic()))


class Receiver(threading.Thread):
    def __init__(self, blocks, stop, seed):
        super().__init__(name="receiver", daemon=True)
        self.blocks = blocks
        self.stop = stop
        self.rng = np.random.default_rng(seed)
        self.left_out = 0

    def _receive(self, bogie, serial):
        raw = self.rng.standard_normal((SENSORS, SAMPLES), dtype=np.float32)
        return Block(bogie, serial, cp.asarray(raw))  # grows

    def run(self):
        pace = Pace(SETTINGS["blocks_per_s"])
        serial = 0
        while not self.stop.is_set():
            for bogie in BOGIES:
                try:
                    self.blocks.put_nowait(self._receive(bogie, serial))  # keeps
                except queue.Full:
                    self.left_out += 1
            serial += 1
            pace.wait()


class Evaluator(threading.Thread):
    """Weighs each block by the comfort filter and follows the index of each bogie."""

    def __init__(self, blocks, stop, seed):
        super().__init__(name="evaluator", daemon=True)
        self.blocks = blocks
        self.stop = stop
        rng = np.random.default_rng(seed)
        self.comfort = cp.asarray(rng.random((SENSORS, SAMPLES), dtype=np.float32))
        self.mattress = cp.asarray(rng.random((40, SENSORS, SAMPLES), dtype=np.float32))
        self.index = dict.fromkeys(BOGIES, 0.0)
        self.evaluated = 0

    def _evaluate(self, block):
        weighted = block.samples * self.comfort * self.mattress[block.serial % len(self.mattress)]
        rms = float(cp.sqrt((weighted * weighted).mean()))
        self.index[block.bogie] = 0.9 * self.index[block.bogie] + 0.1 * rms
        self.evaluated += 1

    def run(self):
        pace = Pace(SETTINGS["evaluations_per_s"])
        while not self.stop.is_set():
            try:
                block = self.blocks.get(timeout=0.5)
            except queue.Empty:
                continue
            self._evaluate(block)
            del block
            pace.wait()


def main():
    blocks = queue.Queue(maxsize=SETTINGS.get("backlog", 0))
    stop = threading.Event()
    evaluator = Evaluator(blocks, stop, seed=12)
    receiver = Receiver(blocks, stop, seed=11)
    start = time.monotonic()
    evaluator.start()
    receiver.start()
    while time.monotonic() - start < SECONDS:
        time.sleep(min(SETTINGS["report_s"], max(0.0, start + SECONDS - time.monotonic())))
        index = " ".join(f"{bogie} {value:.4f}" for bogie, value in evaluator.index.items())
        print(f"{time.monotonic() - start:6.1f} s: comfort index {index}", flush=True)
    stop.set()
    receiver.join(timeout=5.0)
    evaluator.join(timeout=5.0)
    print(f"train arrived, {evaluator.evaluated} blocks evaluated", flush=True)


if __name__ == "__main__":
    main()
