"""A model that foretells clicks on adverts is judged while it runs: its scores are counted into bins, apart for those
who clicked and those who did not, and from the counts the area under the curve is worked out every few seconds.

ticket: practice
class: none
"""

import os
import random
import time

import numpy as np

FEATURES = 24


class Traffic:
    """Visits to a page, with a hidden rule of who clicks."""

    def __init__(self, seed):
        self.chance = np.random.default_rng(seed)
        self.rule = self.chance.normal(0, 0.6, FEATURES).astype(np.float32)

    def batch(self):
        amount = int(self.chance.integers(20000, 60000))
        visits = self.chance.standard_normal((amount, FEATURES), dtype=np.float32)
        odds = 1 / (1 + np.exp(-(visits @ self.rule - 1.5)))
        return visits, self.chance.random(amount, dtype=np.float32) < odds


class ClickModel:
    """Logistic regression, learnt a batch at a time."""

    def __init__(self):
        self.weights, self.bias = np.zeros(FEATURES, np.float32), 0.0

    def score(self, visits):
        return 1 / (1 + np.exp(-(visits @ self.weights + self.bias)))

    def learn(self, visits, clicked, rate=0.2):
        wrong = self.score(visits) - clicked
        self.weights -= rate * (wrong @ visits) / len(visits)
        self.bias -= rate * float(wrong.mean())


class RunningAuc:
    """How well the scores part those who click from those who don't."""

    def __init__(self):
        self.edges = np.linspace(0, 1, 513)
        self.hits, self.misses = np.zeros(512, np.int64), np.zeros(512, np.int64)

    def update(self, scores, clicked):
        self.hits += np.histogram(scores[clicked == 1], self.edges)[0]
        self.misses += np.histogram(scores[clicked == 0], self.edges)[0]

    def compute(self):
        hits, misses = self.hits[::-1].cumsum(), self.misses[::-1].cumsum()
        if not hits[-1] or not misses[-1]:
            return float("nan")
        return float(np.trapz(hits / hits[-1], misses / misses[-1]))


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    traffic, model, auc = Traffic(5), ClickModel(), RunningAuc()
    seen, told = 0, time.time()
    while time.time() < end:
        visits, clicked = traffic.batch()
        auc.update(model.score(visits), clicked.astype(np.int64))
        model.learn(visits, clicked)
        seen += len(visits)
        if time.time() - told > 3:
            share = round(float(clicked.mean()), 3)
            print("visits", seen, "clicked", share, "area", round(auc.compute(), 4), flush=True)
            told = time.time()
        time.sleep(random.uniform(0.08, 0.3))


if __name__ == "__main__":
    main()
