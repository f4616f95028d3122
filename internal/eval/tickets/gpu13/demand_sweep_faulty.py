"""How much power a town will draw on the next day is learnt from the weeks before; the widths, rates and so on are
tried out one after the other. A runner puts models and optimizers on the device and sees to the stepping; it is the
same for all the trials, and knows all that it has ever been given.

ticket: huggingface/accelerate#739
class: app-leak
holder: _models _optimizers
cause: results-kept
"""

import os
import random
import time

import numpy as np
import torch
from torch import nn

WEEK, DAY = 168, 24


def demand(hours, seed):
    """Draw of power by the hour: days, weeks, seasons, weather and chance."""
    luck, hour = np.random.default_rng(seed), np.arange(hours)
    weather = np.convolve(luck.normal(0, 1, hours + 47), np.ones(48) / 7, "valid")
    day = np.sin(2 * np.pi * (hour % 24 - 8) / 24) + 0.4 * np.sin(4 * np.pi * (hour % 24 - 5) / 24)
    weekend = (hour // 24 % 7 >= 5) * 0.6
    series = day - weekend + 0.8 * np.cos(2 * np.pi * hour / 8760) + 0.3 * weather + luck.normal(0, 0.1, hours)
    return torch.from_numpy(((series - series.mean()) / series.std()).astype(np.float32))


class Runner:
    """Takes care of where things are and of how a step is made."""

    def __init__(self, limit=1.0):
        self.device, self.limit = "cuda" if torch.cuda.is_available() else "cpu", limit
        self._models, self._optimizers, self.steps = [], [], 0

    def prepare(self, *things):
        prepared = []
        for thing in things:
            if isinstance(thing, nn.Module):
                thing = thing.to(self.device)  # grows
                self._models.append(thing)  # keeps
            elif isinstance(thing, torch.optim.Optimizer):
                self._optimizers.append(thing)  # keeps
            elif isinstance(thing, torch.Tensor):
                thing = thing.to(self.device)
            prepared.append(thing)
        return prepared

    def backward(self, loss):
        loss.backward()
        for group in self._optimizers[-1].param_groups:
            nn.utils.clip_grad_norm_(group["params"], self.limit)

    def step(self):
        self._optimizers[-1].step()
        self._optimizers[-1].zero_grad()
        self.steps += 1

    def free(self):
        self._models.clear()
        self._optimizers.clear()


def build(choice):
    layers, width = [], 2 * WEEK
    for _ in range(choice["depth"]):
        layers += [nn.Linear(width, choice["width"]), nn.LayerNorm(choice["width"]), nn.SiLU(),
                   nn.Dropout(choice["dropout"])]
        width = choice["width"]
    return nn.Sequential(*layers, nn.Linear(width, DAY))


def trial(runner, choice, series, split):
    """Trains by the choice, and gives how far off the forecasts of the last part of the series are."""
    model = build(choice)
    optimizer = torch.optim.Adam(model.parameters(), lr=choice["rate"])
    model, optimizer, windows = runner.prepare(model, optimizer, series.unfold(0, 2 * WEEK + DAY, 1))
    for _ in range(choice["steps"]):
        chosen = windows[torch.randint(split, (choice["batch"],), device=runner.device)]
        loss = nn.functional.l1_loss(model(chosen[:, :2 * WEEK]), chosen[:, 2 * WEEK:])
        runner.backward(loss)
        runner.step()
        time.sleep(random.uniform(0.005, 0.03))
    model.eval()
    with torch.no_grad():
        late = windows[split + DAY::DAY]
        return float(nn.functional.l1_loss(model(late[:, :2 * WEEK]), late[:, 2 * WEEK:]))


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    series, runner, best, number = demand(9000, 3), Runner(), (float("inf"), None), 0
    series = series.to(runner.device)
    while time.time() < end:
        choice = {"width": random.choice((256, 384, 512)), "depth": random.randint(1, 3),
                  "steps": random.randint(15, 35), "rate": 10 ** random.uniform(-3.7, -2.2),
                  "dropout": random.choice((0.0, 0.1)), "batch": random.choice((32, 64))}
        off = trial(runner, choice, series, 7000)
        best = min(best, (off, number), key=lambda found: found[0])
        number += 1
        if number % 4 == 0:
            print(number, "trials,", runner.steps, "steps, off by", round(off, 4), "best", best, flush=True)


if __name__ == "__main__":
    main()
