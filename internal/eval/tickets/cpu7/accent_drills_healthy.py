"""Trains the accent scorer of a language school on recordings of drill sentences.

Each epoch draws a few batches of cepstra from speakers of several accents. Between epochs the scorer is evaluated on
speakers that are not in the training set, and the weights of the three best epochs are averaged into the scorer that
the school would use; the averaged scorer is evaluated as well.

ticket: practice
class: none
"""
import copy
import heapq
import os
import time

import torch
from torch import nn

FRAMES = 32
CEPSTRA = 20
ACCENTS = 9
HIDDEN = 1150
BATCH = 20
BATCHES_PER_EPOCH = 5
BEST = 3


class DrillRecordings:
    """Cepstra of drill sentences: an accent is a slow contour, a speaker shifts and stretches it."""

    def __init__(self, seed):
        self.random = torch.Generator().manual_seed(seed)
        shared = torch.Generator().manual_seed(1)
        self.contours = torch.randn(ACCENTS, FRAMES, CEPSTRA, generator=shared).cumsum(dim=1) * 0.25

    def batch(self):
        accents = torch.randint(ACCENTS, (BATCH,), generator=self.random)
        speakers = 1.5 * torch.randn(BATCH, 1, CEPSTRA, generator=self.random)
        stretch = 0.6 + 0.8 * torch.rand(BATCH, 1, 1, generator=self.random)
        noise = 2.2 * torch.randn(BATCH, FRAMES, CEPSTRA, generator=self.random)
        return self.contours[accents] * stretch + speakers + noise, accents


def build_scorer():
    return nn.Sequential(
        nn.Flatten(),
        nn.LayerNorm(FRAMES * CEPSTRA),
        nn.Linear(FRAMES * CEPSTRA, HIDDEN),
        nn.ReLU(),
        nn.Dropout(0.4),
        nn.Linear(HIDDEN, 400),
        nn.ReLU(),
        nn.Linear(400, ACCENTS),
    )


class BestEpochs:
    """Scores and weights of epochs, and the average over the best of them."""

    def __init__(self):
        self.shelf = {}
        self.scores = {}

    def add(self, epoch, score, scorer):
        self.scores[epoch] = score
        self.shelf[epoch] = copy.deepcopy(scorer.state_dict())
        for worse in set(self.shelf).difference(self.best()):
            del self.shelf[worse], self.scores[worse]

    def best(self):
        return heapq.nlargest(BEST, self.shelf, key=lambda epoch: (self.scores[epoch], epoch))

    def average_into(self, scorer):
        chosen = [self.shelf[epoch] for epoch in self.best()]
        with torch.no_grad():
            for name, weight in scorer.state_dict().items():
                weight.copy_(chosen[0][name])
                for other in chosen[1:]:
                    weight.add_(other[name])
                weight.div_(len(chosen))


def train_epoch(scorer, optimizer, recordings):
    scorer.train()
    total = 0.0
    for _ in range(BATCHES_PER_EPOCH):
        cepstra, accents = recordings.batch()
        loss = nn.functional.cross_entropy(scorer(cepstra), accents, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        time.sleep(0.14)
    return total / BATCHES_PER_EPOCH


@torch.inference_mode()
def evaluate(scorer, held_out):
    scorer.eval()
    right = sum(int((scorer(cepstra).argmax(dim=1) == accents).sum()) for cepstra, accents in held_out)
    return right / (len(held_out) * BATCH)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(31)
    scorer, averaged = build_scorer(), build_scorer()
    optimizer = torch.optim.SGD(scorer.parameters(), lr=0.02, momentum=0.8, weight_decay=1e-4)
    recordings = DrillRecordings(seed=2)
    unseen = DrillRecordings(seed=77)
    held_out = [unseen.batch() for _ in range(6)]
    best_epochs = BestEpochs()
    epoch = 0
    while time.time() < end:
        epoch += 1
        loss = train_epoch(scorer, optimizer, recordings)
        score = evaluate(scorer, held_out)
        best_epochs.add(epoch, score, scorer)
        best_epochs.average_into(averaged)
        together = evaluate(averaged, held_out)
        if epoch % 4 == 0:
            print(f"epoch {epoch}: loss {loss:.3f}, scorer {score:.1%}, averaged {together:.1%}", flush=True)


if __name__ == "__main__":
    main()
