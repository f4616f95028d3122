"""Which network best foretells the colour of a glaze from its recipe? Settings are drawn by chance, and a trial with
each is given up at a rung where it is worse than half of those before. Of a trial that was given up the reason is
counted by its width, so that the table shows where not to look.

ticket: practice
class: none
"""

import os
import random
import statistics
import time
from collections import Counter, defaultdict, deque

import torch
from torch import nn
from torch.nn import functional as F

OXIDES, COLOURS, BATCH = 48, 3, 64
RUNGS, LENGTH = (6, 12, 18), 20


class Pruned(Exception):
    """A trial was not worth going on with."""


class Study:
    def __init__(self):
        self.best, self.finished = None, 0
        self.given_up = defaultdict(Counter)
        self.rungs = defaultdict(lambda: deque(maxlen=50))

    def check(self, step, loss):
        """Ends the trial if it lags behind at this rung."""
        seen = self.rungs[step]
        hopeless = len(seen) >= 3 and loss > statistics.median(seen)
        seen.append(loss)
        if hopeless:
            raise Pruned(f"behind at step {step}")

    def run(self, trial, settings):
        try:
            loss = trial(self, settings)
        except Pruned as reason:
            self.given_up[settings["width"]][str(reason)] += 1
            return
        self.finished += 1
        if self.best is None or loss < self.best[0]:
            self.best = loss, settings

    def table(self):
        lines = []
        for width, reasons in sorted(self.given_up.items()):
            often = reasons.most_common(2)
            lines.append(f"{width}: " + ", ".join(f"{count} {reason}" for reason, count in often))
        return "; ".join(lines)


def draw():
    width, rate = random.choice((640, 768, 896)), 10 ** random.uniform(-4.5, -2)
    return {"width": width, "rate": rate, "dropout": random.uniform(0, 0.4)}


def glazes(truth, device):
    """Recipes and the colours that come out of the kiln."""
    recipes = torch.rand(BATCH, OXIDES, device=device)
    return recipes, torch.sigmoid(recipes @ truth)


def network(width, dropout):
    return nn.Sequential(
        nn.Linear(OXIDES, width), nn.ReLU(), nn.Dropout(dropout),
        nn.Linear(width, width), nn.ReLU(), nn.Linear(width, COLOURS), nn.Sigmoid(),
    )


def make_trial(truth, device):
    def trial(study, settings):
        model = network(settings["width"], settings["dropout"]).to(device)
        optimizer = torch.optim.Adam(model.parameters(), lr=settings["rate"])
        for step in range(1, LENGTH + 1):
            recipes, colours = glazes(truth, device)
            loss = F.mse_loss(model(recipes), colours)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step in RUNGS:
                study.check(step, loss.item())
            time.sleep(0.06)
        return loss.item()
    return trial


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    study, trial = Study(), make_trial(torch.randn(OXIDES, COLOURS, device=device), device)
    end, tried = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        study.run(trial, draw())
        tried += 1
        if tried % 5 == 0:
            best = f"{study.best[0]:.4f}" if study.best else "none"
            print(f"{tried} trials, {study.finished} finished, best {best}; {study.table()}", flush=True)


if __name__ == "__main__":
    main()
