"""Measure the tree rings of cedar cores. Threads read and unroll the scans ahead of the loop, which takes them in their
order, filters each on the device, and finds the widths of its rings. The mean width by decade is the chronology.

ticket: practice
class: none
"""

import itertools
import os
import random
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch.nn import functional as F

torch.set_num_threads(1)
device = "cuda" if torch.cuda.is_available() else "cpu"

LENGTH, BREADTH = 6000, 96
AHEAD = 4
SITES = ["Bsharri", "Barouk", "Tannourine"]
DECADES = 40

smooth = torch.hann_window(41)
smooth = (smooth / smooth.sum())[None, None].to(device)
chronology = {site: np.zeros(DECADES) for site in SITES}
weights = {site: np.zeros(DECADES) for site in SITES}


def read(number):
    """A scan as the scanner gives it: rings with latewood that is darker, and some cracks."""
    rng = np.random.default_rng(number)
    widths = rng.gamma(9.0, 2.0, LENGTH // 12)
    edges = np.cumsum(widths)
    edges = edges[edges < LENGTH - 30].astype(int)
    grey = np.full(LENGTH, 0.8, dtype=np.float32)
    for edge in edges:
        grey[edge:edge + 5] -= 0.45
    image = grey[:, None] + 0.05 * rng.standard_normal((LENGTH, BREADTH), dtype=np.float32)
    for crack in rng.integers(0, LENGTH - 10, 3):
        image[crack:crack + 4, :BREADTH // 2] = 0.0
    return image


def ring_widths(image):
    with torch.no_grad():
        core = torch.from_numpy(image).to(device)
        profile = core.median(dim=1).values
        trend = F.conv1d(profile[None, None], smooth, padding=20)[0, 0]
        dark = (profile < trend - 0.1).int()
        starts = torch.nonzero(dark.diff() == 1)[:, 0]
    return np.diff(starts.cpu().numpy())


def add(site, widths):
    """Put the widths into the chronology, ten rings a decade, the newest first."""
    for decade, ten in enumerate(np.array_split(widths[::-1][:10 * DECADES], DECADES)):
        if len(ten):
            chronology[site][decade] += ten.mean()
            weights[site][decade] += 1


scans = {}
end = time.time() + float(os.environ.get("SECONDS", "45"))
with ThreadPoolExecutor(2) as readers:
    for number in range(AHEAD):
        scans[number] = readers.submit(read, number)
    for number in itertools.count():
        if time.time() > end:
            break
        scans[number + AHEAD] = readers.submit(read, number + AHEAD)
        image = scans.pop(number).result()
        widths = ring_widths(image)
        site = SITES[number % len(SITES)]
        add(site, widths)

        if number % 30 == 29:
            for name in SITES:
                means = chronology[name] / np.maximum(weights[name], 1)
                print(f"{number + 1} cores, {name}:", *means[:6].round(1), flush=True)
        time.sleep(random.uniform(0.06, 0.16))

print(number, "cores measured")
