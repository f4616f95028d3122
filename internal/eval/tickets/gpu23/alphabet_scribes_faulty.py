"""A network learns to read one script after the other (Greek, Runic, Glagolitic ...) and should not forget the earlier
ones. After each script the weights that mattered for it are tied to where they are then (elastic weight consolidation):
a penalty is made for it, and the loss of the next script is its own plus the penalties.

ticket: practice
class: app-leak
holder: penalties penalty Scribe scribe
cause: closure-kept snapshots-kept results-kept buffer-without-bound
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

SIDE, LETTERS, WIDTH = 20, 24, 640
BATCHES = (32, 48, 64)


class Script:
    """Letters of a script, each a bit different whenever it is written."""

    def __init__(self, device):
        self.letters = (torch.rand(LETTERS, SIDE * SIDE, device=device) < 0.25).float()

    def page(self):
        kinds = torch.randint(LETTERS, (random.choice(BATCHES),), device=self.letters.device)
        return self.letters[kinds] + 0.3 * torch.randn(len(kinds), SIDE * SIDE, device=kinds.device), kinds


class Scribe:
    def __init__(self, device, strength=50.0):
        self.model = nn.Sequential(nn.Linear(SIDE * SIDE, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(),
                                   nn.Linear(WIDTH, LETTERS)).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.05)
        self.strength = strength
        self.penalties = []

    def learn(self, script, steps):
        for _ in range(steps):
            pictures, kinds = script.page()
            loss = F.cross_entropy(self.model(pictures), kinds)
            for penalty in self.penalties:
                loss = loss + penalty()
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            time.sleep(random.uniform(0.02, 0.08))
        return loss.item()

    def consolidate(self, script, pages=4):
        """Ties the weights that mattered for a script."""
        weights = list(self.model.parameters())
        anchors = [weight.detach().clone() for weight in weights]  # grows
        matter = [torch.zeros_like(weight) for weight in weights]  # grows
        for _ in range(pages):
            pictures, kinds = script.page()
            grads = torch.autograd.grad(F.cross_entropy(self.model(pictures), kinds), weights)
            for sums, grad in zip(matter, grads):
                sums += grad.square() / pages

        def penalty():
            return self.strength * sum((much * (weight - anchor).square()).sum()
                                       for much, weight, anchor in zip(matter, weights, anchors))

        self.penalties.append(penalty)  # keeps

    @torch.no_grad()
    def reads(self, script):
        pictures, kinds = script.page()
        return (self.model(pictures).argmax(-1) == kinds).float().mean().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    scribe, learned = Scribe(device), 0
    first = Script(device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    script = first
    while time.time() < end:
        loss = scribe.learn(script, random.randint(8, 16))
        scribe.consolidate(script)
        learned += 1
        print("scripts", learned, "loss", round(loss, 3), "reads it", round(scribe.reads(script), 2), "the first",
              round(scribe.reads(first), 2), flush=True)
        script = Script(device)


if __name__ == "__main__":
    main()
