"""A classifier is evaluated every few seconds with the moving average of its weights. The weights of the training are
put on a stack for the time of the evaluation; they are copied back from there, but never taken off.

ticket: practice
class: app-leak
holder: stored ema average
cause: snapshots-kept
"""

import contextlib
import logging
import os
import random
import time

import torch
from torch import nn

log = logging.getLogger("classifier")


class MovingAverage:
    def __init__(self, model, decay=0.995):
        self.decay, self.stored = decay, []
        self.parameters = list(model.parameters())
        self.shadow = [p.detach().clone() for p in self.parameters]

    @torch.no_grad()
    def update(self):
        for shadow, parameter in zip(self.shadow, self.parameters):
            shadow.lerp_(parameter, 1 - self.decay)

    @torch.no_grad()
    def store(self):
        copies = [p.detach().clone() for p in self.parameters]  # grows
        self.stored.append(copies)  # keeps

    @torch.no_grad()
    def swap_in(self):
        for shadow, parameter in zip(self.shadow, self.parameters):
            parameter.copy_(shadow)

    @torch.no_grad()
    def restore(self):
        for saved, parameter in zip(self.stored[-1], self.parameters):
            parameter.copy_(saved)

    @contextlib.contextmanager
    def averaged(self):
        self.store()
        self.swap_in()
        try:
            yield
        finally:
            self.restore()


class Training:
    def __init__(self, device, width=1536):
        self.device, self.steps = device, 0
        self.model = nn.Sequential(nn.Linear(256, width), nn.GELU(), nn.Linear(width, width), nn.GELU(),
                                   nn.Linear(width, 50)).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)
        self.average = MovingAverage(self.model)
        self.centres = torch.randn(50, 256, device=device)

    def batch(self, count):
        labels = torch.randint(0, 50, (count,), device=self.device)
        return self.centres[labels] + 2.5 * torch.randn(count, 256, device=self.device), labels

    def step(self):
        x, y = self.batch(48)
        loss = nn.functional.cross_entropy(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.average.update()
        self.steps += 1

    @torch.no_grad()
    def evaluate(self):
        right = total = 0
        with self.average.averaged():
            for _ in range(random.randint(4, 9)):
                x, y = self.batch(random.choice([64, 200, 256]))
                right += int((self.model(x).argmax(1) == y).sum())
                total += len(y)
                time.sleep(0.03)
        log.info("step %d: %.1f %% are right", self.steps, 100 * right / total)


def main():
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    training = Training("cuda" if torch.cuda.is_available() else "cpu")
    while time.time() < end:
        stop = min(end, time.time() + random.uniform(2.0, 5.0))
        while time.time() < stop:
            training.step()
            time.sleep(0.08)
        training.evaluate()


if __name__ == "__main__":
    main()
