"""Reads runes off stones. The lessons get harder as the network gets better: more wear on the strokes, step by step.
Each step goes to the debug log with the gradient of the widest layer. A flight recorder keeps the end of the log, and
its last lines are shown when a loss is out of the ordinary.

ticket: practice
class: none
"""

import logging
import os
import random
import time
from collections import deque

import torch
from torch import nn
from torch.nn import functional as F

RUNES, SIDE, WIDTH, BATCH = 24, 20, 640, 32
log = logging.getLogger("runes")


class FlightRecorder(logging.Handler):
    """Takes every record in without formatting it; shows the last ones when asked."""

    def __init__(self, shown=3):
        super().__init__(logging.DEBUG)
        self.shown = shown
        self.records = deque(maxlen=20)

    def emit(self, record):
        self.records.append(record)

    def show(self, reason):
        print(f"--- {reason}")
        for record in list(self.records)[-self.shown:]:
            print("   ", record.getMessage())


class Curriculum:
    """How worn the runes are: a little more each time that nine in ten were read right."""

    def __init__(self):
        self.wear, self.right = 0.1, deque(maxlen=20)

    def lesson(self, strokes, device):
        runes = torch.randint(RUNES, (BATCH,), device=device)
        stones = strokes[runes] + self.wear * torch.randn(BATCH, SIDE * SIDE, device=device)
        return stones, runes

    def mark(self, share):
        self.right.append(share)
        if len(self.right) == 20 and sum(self.right) / 20 > 0.9:
            self.wear *= 1.15
            self.right.clear()
            return True
        return False


class Gradient:
    """A gradient as it is put into the log."""

    def __init__(self, name, values):
        self.name, self.values = name, values

    def __str__(self):
        return f"{self.name} from {self.values.min():.2e} to {self.values.max():.2e}"


def train_step(model, optimizer, step, stones, runes):
    scores = model(stones)
    loss = F.cross_entropy(scores, runes)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    widest = model[2].weight
    gradient = Gradient("widest", widest.grad.cpu().numpy())
    log.debug("step %d: loss %.3f, gradient of %s", step, loss.item(), gradient)
    optimizer.step()
    return loss.item(), (scores.argmax(1) == runes).float().mean().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    recorder, curriculum = FlightRecorder(), Curriculum()
    log.setLevel(logging.DEBUG)
    log.propagate = False
    log.addHandler(recorder)
    strokes = (torch.rand(RUNES, SIDE * SIDE, device=device) < 0.2).float()
    model = nn.Sequential(
        nn.Linear(SIDE * SIDE, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, RUNES)
    ).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
    end, step, usual = time.time() + float(os.environ.get("SECONDS", "45")), 0, 3.2
    while time.time() < end:
        loss, share = train_step(model, optimizer, step, *curriculum.lesson(strokes, device))
        if loss > 3 * usual + 0.5:
            recorder.show(f"loss {loss:.2f} where {usual:.2f} is usual")
        usual = 0.9 * usual + 0.1 * loss
        if curriculum.mark(share) or step % 100 == 0:
            print(f"step {step}: wear {curriculum.wear:.2f}, loss {usual:.3f}", flush=True)
        step += 1
        time.sleep(random.uniform(0.06, 0.14))


if __name__ == "__main__":
    main()
