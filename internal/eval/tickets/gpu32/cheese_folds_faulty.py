"""Predicts how long a cheese must ripen from what the dairy measures. Settings are drawn at random and judged by
cross-validation: each fold has its own trainer, which stops early. The collector of garbage is off, because its pauses
made the step times jump.

ticket: practice
class: app-leak
holder: trainer Trainer callbacks EarlyStopping BestScore
cause: reference-cycle
"""

import gc
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

CHEESES, MEASURES, FOLDS, BATCH = 1_200, 60, 4, 128


class Callback:
    trainer = None

    def after_epoch(self, epoch, loss):
        pass


class EarlyStopping(Callback):
    def __init__(self, patience=2):
        self.patience, self.best, self.waited = patience, float("inf"), 0

    def after_epoch(self, epoch, loss):
        self.waited = 0 if loss < self.best else self.waited + 1
        self.best = min(self.best, loss)
        if self.waited > self.patience:
            self.trainer.stopped = True


class BestScore(Callback):
    def after_epoch(self, epoch, loss):
        self.trainer.score = min(self.trainer.score, loss)


class Trainer:
    def __init__(self, settings, device, callbacks):
        width, rate, dropout = settings
        self.model = nn.Sequential(
            nn.Linear(MEASURES, width), nn.ReLU(), nn.Dropout(dropout),
            nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1),
        ).to(device)  # grows
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=rate)
        self.callbacks, self.stopped, self.score = callbacks, False, float("inf")
        for callback in callbacks:
            callback.trainer = self  # keeps

    def fit(self, train, test, epochs=8):
        for epoch in range(epochs):
            self.model.train()
            for rows, weeks in zip(*(part.split(BATCH) for part in train)):
                loss = F.mse_loss(self.model(rows)[:, 0], weeks)
                self.optimizer.zero_grad()
                loss.backward()  # grows
                self.optimizer.step()  # grows
                time.sleep(0.02)
            loss = self.test(*test)
            for callback in self.callbacks:
                callback.after_epoch(epoch, loss)
            if self.stopped:
                break
        return self.score

    @torch.no_grad()
    def test(self, rows, weeks):
        self.model.eval()
        return F.mse_loss(self.model(rows)[:, 0], weeks).item()


def cross_validate(rows, weeks, settings, device):
    folds, scores = torch.randperm(len(rows), device=device).chunk(FOLDS), []
    for held_out in range(FOLDS):
        kept = torch.cat([fold for number, fold in enumerate(folds) if number != held_out])
        trainer = Trainer(settings, device, [EarlyStopping(), BestScore()])
        test = rows[folds[held_out]], weeks[folds[held_out]]
        scores.append(trainer.fit((rows[kept], weeks[kept]), test))
    return sum(scores) / FOLDS


def main():
    torch.set_num_threads(1)
    gc.disable()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rows = torch.randn(CHEESES, MEASURES, device=device)
    weeks = torch.tanh(rows[:, :5]).sum(dim=1) + 0.3 * torch.randn(CHEESES, device=device)
    end, trial, best = time.time() + float(os.environ.get("SECONDS", "45")), 0, float("inf")
    while time.time() < end:
        settings = random.choice((448, 512, 576)), 10 ** random.uniform(-3.5, -2.5), random.uniform(0, 0.3)
        score = cross_validate(rows, weeks, settings, device)
        trial, best = trial + 1, min(best, score)
        print(f"trial {trial}: width {settings[0]}, error {score:.3f}, best {best:.3f}", flush=True)


if __name__ == "__main__":
    main()
