"""Tomography scans are resliced and reconstructed. Each scan is kept for its picture, which is on the
host, but the raw projections of which it was made stay with it on the device.

ticket: DiamondLightSource/httomo#33
class: app-leak
holder: raw scans
cause: results-kept
"""

import os
import random
import time

import cupy as cp

END = time.time() + float(os.environ.get("SECONDS", "40"))


class Scan:
    def __init__(self, number, angles):
        self.number = number
        self.raw = cp.random.random((angles, 64, 256), dtype=cp.float32)  # grows
        self.picture = None

    def reslice(self):
        flat = self.raw.mean(axis=0, keepdims=True) + 0.01
        sinograms = cp.ascontiguousarray((self.raw / flat).transpose(1, 0, 2))
        return sinograms


class Pipeline:
    def __init__(self):
        self.scans = []

    def run(self, scan):
        sinograms = scan.reslice()
        ramp = cp.abs(cp.arange(256, dtype=cp.float32) - 128) / 128
        filtered = sinograms * ramp
        scan.picture = cp.asnumpy(filtered.mean(axis=1))
        self.scans.append(scan)  # grows


pipeline = Pipeline()
while time.time() < END:
    for _ in range(random.choice((1, 1, 1, 4))):
        pipeline.run(Scan(len(pipeline.scans), random.randint(45, 90)))
        time.sleep(0.15)
    if len(pipeline.scans) % 30 < 2:
        print("scans", len(pipeline.scans), pipeline.scans[-1].picture.mean(), flush=True)
    time.sleep(random.uniform(0.7, 2.2))
