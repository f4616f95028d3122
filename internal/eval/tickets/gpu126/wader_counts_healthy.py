"""Training of a counter of wading birds from the window of a hide.

Each training image shows a mud flat with a number of small silhouettes on it, and the network regresses how many
there are. Every few steps it is scored on a fixed set of images, and the weights of the few best scores are
averaged into the counter that the warden uses for the day's tally.

ticket: practice
class: none
"""

import os
import time

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
STEPS_PER_SECOND = 8
STEPS_PER_SCORE = 4
IMAGE = 48
BATCH = 16


class FlatCounter(nn.Module):
    """Two convolutions and a dense head that ends in one number, the birds on the flat."""

    def __init__(self):
        super().__init__()
        self.look = nn.Sequential(
            nn.Conv2d(1, 12, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(12, 20, 3, stride=2, padding=1),
            nn.ReLU(),
        )
        self.head = nn.Sequential(nn.Linear(20 * 12 * 12, 270), nn.ReLU(), nn.Linear(270, 1))

    def forward(self, images):
        return self.head(self.look(images).flatten(1)).squeeze(1)


class MudFlat:
    """Draws images of the flat with a known number of birds."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.backgrounds = torch.rand(2048, 1, IMAGE, IMAGE, device=DEVICE, generator=self.generator).mul_(0.3)

    def draw(self, size):
        rows = torch.randint(0, 2048, (size,), device=DEVICE, generator=self.generator)
        chance = torch.rand(size, 1, 1, 1, device=DEVICE, generator=self.generator) * 0.02
        noise = torch.rand(size, 1, IMAGE, IMAGE, device=DEVICE, generator=self.generator)
        birds = (noise < chance).float()
        return self.backgrounds[rows] + birds, birds.sum(dim=(1, 2, 3))


class BestWeights:
    """The weights of the best scores of the training, and their mean."""

    def __init__(self, size):
        self.size = size
        self._candidates = []

    def offer(self, score, model):
        weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
        self._candidates.append((score, weights))
        self._candidates = sorted(self._candidates, key=lambda candidate: candidate[0])[: self.size]

    def best_score(self):
        return self._candidates[0][0]

    def fill(self, model):
        chosen = [weights for _, weights in self._candidates[: self.size]]
        with torch.no_grad():
            for name, value in model.state_dict().items():
                value.copy_(sum(weights[name] for weights in chosen) / len(chosen))


class Trainer:
    """Teaches the counter and looks after the averaged one."""

    def __init__(self, seed):
        torch.manual_seed(seed)
        self.flat = MudFlat(seed + 1)
        self.model = FlatCounter().to(DEVICE)
        self.averaged = FlatCounter().to(DEVICE)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=4e-4)
        self.best = BestWeights(size=4)
        self.exam = self.flat.draw(64)
        self.steps = 0

    def step(self):
        images, counts = self.flat.draw(BATCH)
        loss = F.smooth_l1_loss(self.model(images), counts)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        return loss.item()

    @torch.no_grad()
    def score(self, model):
        images, counts = self.exam
        return (model(images) - counts).abs().mean().item()


def main():
    trainer = Trainer(seed=19)
    start = time.monotonic()
    loss = 0.0
    while time.monotonic() - start < SECONDS:
        began = time.monotonic()
        loss = trainer.step()
        if trainer.steps % STEPS_PER_SCORE == 0:
            trainer.best.offer(trainer.score(trainer.model), trainer.model)
        if trainer.steps % (3 * STEPS_PER_SECOND) == 0:
            trainer.best.fill(trainer.averaged)
            print(
                f"step {trainer.steps}: loss {loss:.3f}, best {trainer.best.best_score():.3f}, "
                f"averaged {trainer.score(trainer.averaged):.3f}",
                flush=True,
            )
        time.sleep(max(0.0, 1.0 / STEPS_PER_SECOND - (time.monotonic() - began)))
    print(f"taught for {trainer.steps} steps, last loss {loss:.3f}", flush=True)


if __name__ == "__main__":
    main()
