"""Training of a matcher that tells lace makers which picot edge a scrap of old lace belongs to.

Scraps are described by stitch statistics; each class of edge has a prototype that is hidden under thread
noise. A wide network is trained on fresh scraps all the time. At fixed steps its weights are shelved, and
the mean of the latest shelved weights is judged on a fixed tray of scraps, as a mean matches rare edges
better than the weights of one moment.

ticket: practice
class: app-leak
holder: kept
cause: snapshots-kept
"""
import os
import time

import torch
import torch.nn.functional as F
from torch import nn

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 8
SHELVE_EVERY = 16
AVERAGED = 2
STATISTICS = 768
EDGES = 512
BATCH = 24
THREAD_NOISE = 1.4


class ScrapBasket:
    """Scraps of lace drawn from noisy prototypes of the picot edges."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.prototypes = torch.randn(EDGES, STATISTICS, generator=self.generator, device=DEVICE)

    def draw(self, count):
        edges = torch.randint(EDGES, (count,), generator=self.generator, device=DEVICE)
        noise = torch.randn(count, STATISTICS, generator=self.generator, device=DEVICE)
        return self.prototypes[edges] + THREAD_NOISE * noise, edges


def build_matcher():
    return nn.Sequential(
        nn.Linear(STATISTICS, 1024),
        nn.ReLU(),
        nn.Linear(1024, 1536),
        nn.ReLU(),
        nn.Linear(1536, EDGES),
    ).to(DEVICE)


class WeightShelf:
    """Shelved weights by training step, with the mean of the latest ones."""

    def __init__(self, every, averaged):
        self.every = every
        self.averaged = averaged
        self.kept = {}

    def due(self, step):
        return step % self.every == 0

    def shelve(self, step, matcher):
        weights = {name: value.detach().clone() for name, value in matcher.state_dict().items()}  # grows
        self.kept[step] = weights  # keeps
        self.kept.pop(step - self.averaged, None)

    def mean(self):
        latest = [self.kept[step] for step in sorted(self.kept)[-self.averaged:]]
        mean = {}
        for name in latest[0]:
            total = latest[0][name].clone()
            for weights in latest[1:]:
                total.add_(weights[name])
            mean[name] = total.div_(len(latest))
        return mean


class Trainer:
    """Trains the matcher and judges the averaged weights on a fixed tray of scraps."""

    def __init__(self, basket):
        self.basket = basket
        self.matcher = build_matcher()
        self.judge = build_matcher()
        self.optimizer = torch.optim.SGD(self.matcher.parameters(), lr=0.02, momentum=0.9)
        self.shelf = WeightShelf(SHELVE_EVERY, AVERAGED)
        self.tray, self.answers = basket.draw(256)
        self.step = 0
        self.loss = 0.0
        self.best = 0.0

    def train_once(self):
        scraps, edges = self.basket.draw(BATCH)
        loss = F.cross_entropy(self.matcher(scraps), edges)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.step += 1
        self.loss = float(loss.detach())

    @torch.no_grad()
    def judge_mean(self):
        self.judge.load_state_dict(self.shelf.mean())
        right = float((self.judge(self.tray).argmax(dim=1) == self.answers).float().mean())
        self.best = max(self.best, right)
        return right


def main():
    torch.set_num_threads(1)
    torch.manual_seed(3)
    trainer = Trainer(ScrapBasket(seed=19))
    started = time.monotonic()
    while time.monotonic() - started < SECONDS:
        trainer.train_once()
        if trainer.shelf.due(trainer.step):
            trainer.shelf.shelve(trainer.step, trainer.matcher)
            right = trainer.judge_mean()
            print(f"step {trainer.step:5d}  loss {trainer.loss:.3f}  edges matched {right:.1%}", flush=True)
        due = started + trainer.step / ROUNDS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"training ended after {trainer.step} steps, best match {trainer.best:.1%}", flush=True)


if __name__ == "__main__":
    main()
