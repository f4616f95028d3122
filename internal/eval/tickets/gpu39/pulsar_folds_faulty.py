"""A radio telescope looks for pulsars. CuPy evens each scan out, folds it at trial periods, and brings the folded power
to pinned memory; from there the recorder writes it to the disk. Should the recorder end before a scan is written, its
finalizer writes the scan.

ticket: practice
class: host-growth
holder: _registry finalize _Info args scan
cause: registered-for-the-end callbacks-left pinned-staging
"""

import os
import tempfile
import time
import weakref

import cupy
import cupyx
import numpy as np

CHANNELS, SAMPLES, PERIODS, BINS = 128, 8192, 48, 128
FILES = 4


def sky(noise):
    """A scan: noise, and in some scans a faint pulse."""
    scan = noise.standard_normal((CHANNELS, SAMPLES), dtype=cupy.float32)
    if float(noise.random()) < 0.3:
        scan[:, ::173] += 0.4
    return scan


def even_out(scan):
    scan -= scan.mean(axis=1, keepdims=True)
    scan /= scan.std(axis=1, keepdims=True)
    return scan


def fold(scan):
    """The power of each channel by trial period and by phase."""
    folded = cupy.empty((CHANNELS, PERIODS, BINS), dtype=cupy.float32)
    for trial in range(PERIODS):
        period = BINS + 3 * trial
        turns = SAMPLES // period
        profile = scan[:, :turns * period].reshape(CHANNELS, turns, period).mean(axis=1)
        folded[:, trial] = profile[:, :BINS]
    return folded * folded


def rescue(path, scan, written):
    if not written:
        np.save(path, scan)


class Recorder:
    def __init__(self, folder):
        self.folder, self.scans, self.best = folder, 0, 0.0

    def record(self, folded):
        scan = cupyx.empty_pinned(folded.shape, dtype=np.float32)  # grows
        folded.get(out=scan)
        path, written = os.path.join(self.folder, f"scan{self.scans % FILES}.npy"), []
        weakref.finalize(self, rescue, path, scan, written)  # keeps
        np.save(path, scan)
        written.append(path)
        self.scans += 1
        self.best = max(self.best, float(scan.max()))


def main():
    noise = cupy.random.default_rng(12)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(folder)
        while time.time() < end:
            recorder.record(fold(even_out(sky(noise))))
            if recorder.scans % 10 == 0:
                print(f"{recorder.scans} scans, the strongest fold has {recorder.best:.4f}", flush=True)
            time.sleep(0.2 if recorder.scans % 8 else 0.5)


if __name__ == "__main__":
    main()
