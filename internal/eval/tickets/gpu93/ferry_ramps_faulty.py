"""Heights of the vehicles that drive up the ramp of a ferry.

A laser above the ramp delivers a scan of each vehicle as a grid of ranges. A scan is straightened with the tilt
of the ramp, gaps are closed, and a filter on the accelerator finds the height and the class of the vehicle. On a
windy quay many scans are of no use: their vehicles are sent past the laser again.

ticket: practice
class: host-growth
holder: refused tb_frame
cause: exception-kept
"""
import os
import queue
import threading
import time
from collections import Counter

import numpy as np
import torch
import torch.nn.functional as F

ROWS, COLUMNS = 512, 640
LANES = ["motorcycles", "cars", "vans", "coaches", "lorries"]
LIMITS = [1.3, 1.9, 2.8, 3.6]


class ScanError(Exception):
    """The scan cannot be used; the vehicle has to pass again."""


def laser(out, end):
    """Puts about six scans a second into the queue."""
    rng = np.random.default_rng(41)
    columns = np.linspace(-1.0, 1.0, COLUMNS, dtype=np.float32)
    rows = np.linspace(0.0, 1.0, ROWS, dtype=np.float32)[:, None]
    while time.time() < end:
        height = rng.uniform(1.0, 4.2)
        roof = height * np.clip(1.4 - columns ** 2 - 0.2 * rows, 0.0, 1.0)
        ranges = 6.0 - roof + 0.02 * rng.standard_normal((ROWS, COLUMNS), dtype=np.float32)  # grows
        if rng.random() < 0.35:
            ranges[rng.random(ROWS) < 0.3] = np.nan
        if rng.random() < 0.35:
            ranges += 0.4 * np.sin(40.0 * rows)
        try:
            out.put(ranges, timeout=1.0)
        except queue.Full:
            continue
        time.sleep(0.16)
    out.put(None)


def straighten(ranges, tilt):
    """Heights above the ramp; raises ScanError for too many gaps or a vehicle that rocks."""
    slope = tilt * np.linspace(0.0, 1.0, ROWS, dtype=np.float32)[:, None]
    heights = 6.0 - slope - ranges  # grows
    gaps = np.isnan(heights)  # grows
    if gaps.mean() > 0.1:
        raise ScanError("too many gaps")
    heights[gaps] = np.nanmedian(heights)
    ridge = heights.max(axis=1)
    if ridge.std() > 0.15:
        raise ScanError("the vehicle rocks")
    return heights


class Ramp:
    def __init__(self, device):
        self.device = device
        self.tilt = 0.05
        kernel = torch.outer(torch.hann_window(9), torch.hann_window(9))
        self.kernel = (kernel / kernel.sum()).view(1, 1, 9, 9).to(device)
        self.lanes = Counter()
        self.refused = []

    def classify(self, heights):
        grid = torch.from_numpy(heights).to(self.device).view(1, 1, ROWS, COLUMNS)
        smooth = F.conv2d(grid, self.kernel, stride=2, padding=4)
        top = torch.quantile(smooth.flatten()[::7], 0.98).item()
        return LANES[sum(top > limit for limit in LIMITS)]

    def admit(self, ranges):
        try:
            heights = straighten(ranges, self.tilt)
        except ScanError as err:
            self.refused.append(err)  # keeps
            return None
        lane = self.classify(heights)
        self.lanes[lane] += 1
        return lane

    def report(self):
        reasons = Counter(str(err) for err in self.refused[-12:])
        lanes = ", ".join(f"{self.lanes[lane]} {lane}" for lane in LANES)
        return f"{lanes}; last refusals: {dict(reasons)}"


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    scans = queue.Queue(maxsize=4)
    sensor = threading.Thread(target=laser, args=(scans, end), name="laser", daemon=True)
    sensor.start()
    ramp = Ramp(device)
    spoken = time.time()
    while (ranges := scans.get()) is not None:
        ramp.admit(ranges)
        if time.time() - spoken > 3:
            spoken = time.time()
            print(ramp.report(), flush=True)
    sensor.join()
    print(ramp.report(), flush=True)


if __name__ == "__main__":
    main()
