"""A model's health is looked at every few seconds: a hook for all modules counts how often each unit is dead, and is
removed after the look.

ticket: practice
class: none
"""

import logging
import os
import random
import time

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook

log = logging.getLogger("health")


class Counts:
    """How often the units of each layer were dead during one look."""

    def __init__(self, model):
        self.dead, self.batches, self.live = {}, 0, True
        for name, module in model.named_modules():
            if isinstance(module, nn.ReLU):
                self.dead[module] = None

    def hook(self, module, args, output):
        if self.live and module in self.dead:
            off = (output == 0).float()
            old = self.dead[module]
            self.dead[module] = off if old is None else old + off

    def report(self):
        self.live = False
        return [round(float((dead.mean(0) >= 0.9).float().mean()), 3) for dead in self.dead.values()]


class Segmenter(nn.Module):
    def __init__(self, channels=(3, 12, 16, 16)):
        super().__init__()
        pairs = list(zip(channels[:-1], channels[1:]))
        self.body = nn.Sequential(*[part for a, b in pairs for part in (nn.Conv2d(a, b, 3, padding=1), nn.ReLU())])
        self.head = nn.Conv2d(channels[-1], 5, 1)

    def forward(self, x):
        return self.head(self.body(x))


class Training:
    def __init__(self, device):
        self.device, self.steps, self.model = device, 0, Segmenter().to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)

    def batch(self):
        x = torch.randn(6, 3, 64, 64, device=self.device)
        return x, (x.sum(1) * 1.2).long().clamp(0, 4)

    def step(self):
        x, y = self.batch()
        loss = nn.functional.cross_entropy(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.steps += 1

    @torch.no_grad()
    def look(self):
        counts = Counts(self.model)
        handle = register_module_forward_hook(counts.hook)
        self.model.eval()
        for _ in range(random.randint(3, 7)):
            self.model(self.batch()[0])
            time.sleep(0.03)
        self.model.train()
        handle.remove()
        log.info("step %d: dead units %s", self.steps, counts.report())


def main():
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    training, due = Training("cuda" if torch.cuda.is_available() else "cpu"), time.time() + 1
    while time.time() < end:
        training.step()
        time.sleep(0.06)
        if time.time() > due:
            training.look()
            due = time.time() + random.uniform(1.0, 3.5)


if __name__ == "__main__":
    main()
