"""Simulate the waves that a barge makes in a canal between two locks. For each scenario (speed, draught, wind) the water
levels along the canal are worked out on the device, one row for each tenth step. The summary of a scenario goes into a
CSV file at once, so that it is there also when somebody stops the run.

ticket: practice
class: none
"""

import itertools
import os
import random
import tempfile
import time

import numpy as np
import torch

torch.set_num_threads(1)
device = "cuda" if torch.cuda.is_available() else "cpu"

CELLS, STEPS, EVERY = 8192, 1200, 10
DEPTH, GRAVITY = 3.5, 9.81
DX = 0.5
DT = 0.4 * DX / (GRAVITY * DEPTH) ** 0.5
SPEEDS = (1.5, 2.2, 3.0)
DRAUGHTS = (0.8, 1.4)
WINDS = (0.0, 6.0)

place = torch.arange(CELLS, device=device) * DX
path = os.path.join(tempfile.mkdtemp(prefix="barge"), "summary.csv")


def save(scenario, levels):
    speed, draught, wind = scenario
    wave, place_of_wave = levels.max(), levels.argmax() % CELLS * DX
    with open(path, "a") as file:
        file.write(f"{speed},{draught},{wind},{wave:.3f},{levels.std():.4f},{place_of_wave:.0f}\n")


def simulate(speed, draught, wind):
    """Water levels, one row for each tenth step, as a numpy array."""
    level = 0.01 * torch.randn(CELLS, device=device)
    flow = torch.zeros(CELLS + 1, device=device)
    start = random.uniform(100, 400)
    rows = torch.empty(STEPS // EVERY, CELLS, device=device)
    for step in range(STEPS):
        if step % 40 == 0:
            hull = start + speed * step * DT
            push = -draught * torch.exp(-((place - hull) / 20) ** 2)
            head = GRAVITY * DT / DX * DEPTH * push.diff()
        flow[1:-1].sub_(GRAVITY * DEPTH * DT / DX * level.diff()).add_(head, alpha=0.05).add_(1e-6 * wind)
        flow.mul_(0.9995)
        level.sub_(flow.diff(), alpha=DT / DX)
        if step % EVERY == 0:
            rows[step // EVERY] = level
    return np.array(rows.cpu())


scenarios = list(itertools.product(SPEEDS, DRAUGHTS, WINDS))
highest = dict.fromkeys(scenarios, 0.0)
end = time.time() + float(os.environ.get("SECONDS", "45"))
for number, scenario in enumerate(itertools.cycle(scenarios), 1):
    if time.time() > end:
        break
    started = time.time()
    levels = simulate(*scenario)
    save(scenario, levels)
    highest[scenario] = max(highest[scenario], float(levels.max()))

    if number % len(scenarios) == 0:
        print(f"round {number // len(scenarios)}:")
        for speed, draught in itertools.product(SPEEDS, DRAUGHTS):
            waves = [f"{highest[speed, draught, wind]:.3f}" for wind in WINDS]
            print(f"  {speed} m/s, {draught} m:", *waves, flush=True)
    time.sleep(max(0.03, 0.15 - (time.time() - started)))

print(f"{number - 1} simulations, summary in {path}")
