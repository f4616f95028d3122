"""Cork stoppers are graded by a network that stops early: when the validation loss has not improved for a while, the
run ends and the next one starts from another seed. The debug log, with the margins of all validation stoppers, is
written out in bundles of sixteen records.

ticket: practice
class: none
"""

import logging
import os
import time
from logging.handlers import MemoryHandler

import torch
from torch import nn
from torch.nn import functional as F

GRADES, TRAITS, BATCH, STOPPERS = 24, 60, 256, 6_000

log = logging.getLogger("corks")


def set_up_log():
    handler = MemoryHandler(16, flushLevel=logging.ERROR, target=logging.StreamHandler())
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)


class EarlyStopping:
    def __init__(self, patience=12, delta=1e-3):
        self.patience, self.delta = patience, delta
        self.best, self.bad = float("inf"), 0

    def stop(self, loss):
        if loss < self.best - self.delta:
            self.best, self.bad = loss, 0
        else:
            self.bad += 1
        return self.bad >= self.patience


class Corks:
    def __init__(self, device):
        self.rule = torch.randn(TRAITS, GRADES, device=device)
        self.device = device
        self.held_out = self.sample(STOPPERS)

    def sample(self, count):
        traits = torch.randn(count, TRAITS, device=self.device)
        blurred = traits @ self.rule + 3 * torch.randn(count, GRADES, device=self.device)
        return traits, blurred.argmax(1)


def network():
    return nn.Sequential(nn.Linear(TRAITS, 128), nn.ReLU(), nn.Dropout(0.2), nn.Linear(128, GRADES))


def train(model, optimizer, corks, batches=8):
    model.train()
    for _ in range(batches):
        traits, grades = corks.sample(BATCH)
        loss = F.cross_entropy(model(traits), grades)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def validate(model, corks, epoch):
    model.eval()
    traits, grades = corks.held_out
    scores = model(traits)
    margins = (scores - scores.gather(1, grades[:, None])).cpu().numpy()
    log.debug("epoch %d, margins %s", epoch, margins)
    return F.cross_entropy(scores, grades).item()


def run(corks, seed, end):
    torch.manual_seed(seed)
    model, stopping, epoch = network().to(corks.device), EarlyStopping(), 0
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    while time.time() < end:
        train(model, optimizer, corks)
        loss = validate(model, corks, epoch)
        epoch += 1
        time.sleep(0.05)
        if stopping.stop(loss):
            break
    print(f"seed {seed}: stopped after {epoch} epochs, best loss {stopping.best:.3f}", flush=True)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    set_up_log()
    corks, seed = Corks(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        run(corks, seed, end)
        seed += 1


if __name__ == "__main__":
    main()
