"""Tell tram bells from bicycle bells in recordings of a street. The clips have any length. Each is put into page-locked
memory, from where the copy to the device is quick, and there a bank of filters measures its partials. The page-locked
buffers are costly to make, so their sizes are powers of two and they are used again.

ticket: practice
class: none
"""

import os
import random
import time
from collections import Counter

import numpy as np
import torch
from torch.nn import functional as F

torch.set_num_threads(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
rng = np.random.default_rng(5)

RATE = 16_000
SHORTEST, LONGEST = 5 * RATE, 22 * RATE
PARTIALS = {"tram": (520.0, 1310.0, 2490.0), "bicycle": (2100.0, 4350.0, 6900.0)}
TAPS, HOP = 256, 128

staging = {}
hits, heard = Counter(), Counter()
levels = {name: np.zeros(6) for name in PARTIALS}


def filter_bank():
    time_axis = torch.arange(TAPS) / RATE
    window = torch.hann_window(TAPS)
    rows = []
    for frequency in (f for partials in PARTIALS.values() for f in partials):
        for wave in (torch.cos, torch.sin):
            rows.append(window * wave(2 * np.pi * frequency * time_axis))
    return torch.stack(rows)[:, None].to(device)


def record(name):
    """A clip from the street: noise and one stroke of the bell."""
    samples = int(rng.integers(SHORTEST, LONGEST))
    sound = 0.3 * rng.standard_normal(samples, dtype=np.float32)
    start = int(rng.integers(0, samples - RATE))
    seconds = np.arange(RATE, dtype=np.float32) / RATE
    for frequency in PARTIALS[name]:
        stroke = np.sin(2 * np.pi * frequency * rng.uniform(0.99, 1.01) * seconds) * np.exp(-4 * seconds)
        sound[start:start + RATE] += stroke.astype(np.float32)
    return sound


def upload(sound):
    room = 1 << (len(sound) - 1).bit_length()
    if room not in staging:
        staging[room] = torch.empty(room, pin_memory=device == "cuda")
    buffer = staging[room][:len(sound)]
    buffer.copy_(torch.from_numpy(sound))
    return buffer.to(device, non_blocking=True)


bank = filter_bank()
end = time.time() + float(os.environ.get("SECONDS", "45"))
clips = 0
while time.time() < end:
    for name in random.choices(list(PARTIALS), k=random.randint(2, 6)):
        clip = upload(record(name))
        with torch.no_grad():
            waves = F.conv1d(clip[None, None], bank, stride=HOP)[0]
            power = waves.square().view(6, 2, -1).sum(dim=1)
            measured = power.amax(dim=1).cpu().numpy()
        tram, bicycle = measured[:3].mean(), measured[3:].mean()
        guess = "tram" if tram > bicycle else "bicycle"
        hits[name] += guess == name
        heard[name] += 1
        levels[name] = 0.95 * levels[name] + 0.05 * measured
        clips += 1
    if random.random() < 0.15:
        rates = {name: round(hits[name] / max(heard[name], 1), 2) for name in PARTIALS}
        print(clips, "clips, right:", rates, "tram levels:", levels["tram"].round(0), flush=True)
    time.sleep(random.uniform(0.2, 0.4))

print("clips heard:", dict(heard))
