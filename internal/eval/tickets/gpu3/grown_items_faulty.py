"""A recommender is trained while its catalogue grows. When new items come, the table of items is replaced by a
larger one, also in its group of the optimizer. What the optimizer knows of the old table stays under the old
table.

ticket: graphdeco-inria/gaussian-splatting#897
class: app-leak
holder: state optimizer
cause: snapshots-kept cache-without-bound results-kept
"""

import argparse
import logging
import os
import random
import time

import torch
from torch import nn

log = logging.getLogger("recommender")


class Recommender(nn.Module):
    def __init__(self, users, items, width):
        super().__init__()
        self.users = nn.Embedding(users, width)
        self.items = nn.Parameter(torch.randn(items, width) * 0.05)
        self.mix = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, users, items):
        return (self.mix(self.users(users)) * self.items[items]).sum(1)


class Catalogue:
    """Replaces the table of items where it has become too small."""

    def __init__(self, model, optimizer):
        self.model, self.optimizer, self.swaps = model, optimizer, 0

    def grow(self, count):
        old = self.model.items
        fresh = torch.randn(count, old.shape[1], device=old.device) * 0.05
        table = nn.Parameter(torch.cat([old.detach(), fresh]))  # grows
        for group in self.optimizer.param_groups:
            group["params"] = [table if p is old else p for p in group["params"]]
        state = self.optimizer.state.get(old)
        if state:
            moved = {name: self.widen(value, count) for name, value in state.items()}
            self.optimizer.state[table] = moved  # grows
        self.model.items = table
        self.swaps += 1

    @staticmethod
    def widen(value, count):
        if value.dim() < 2:
            return value
        return torch.cat([value, value.new_zeros(count, value.shape[1])])


def train(options, device, end):
    model = Recommender(3000, options.items, options.width).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    catalogue, step = Catalogue(model, optimizer), 0
    while time.time() < end:
        step += 1
        users = torch.randint(0, 3000, (512,), device=device)
        items = torch.randint(0, len(model.items), (512,), device=device)
        wanted = ((users + items) % 7 == 0).float()
        loss = nn.functional.binary_cross_entropy_with_logits(model(users, items), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if random.random() < options.chance:
            catalogue.grow(random.randint(1, options.most))
        if step % 50 == 0:
            log.info("step %d, loss %.3f, %d items, %d swaps", step, loss.item(), len(model.items), catalogue.swaps)
        time.sleep(0.05)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=8000)
    parser.add_argument("--width", type=int, default=192)
    parser.add_argument("--chance", type=float, default=0.06)
    parser.add_argument("--most", type=int, default=24)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    train(options, "cuda" if torch.cuda.is_available() else "cpu",
          time.time() + float(os.environ.get("SECONDS", "45")))


if __name__ == "__main__":
    main()
