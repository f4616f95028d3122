"""A model that foretells clicks on adverts is judged while it runs: its scores and what came of them are put together
into one long array, from which the area under the curve is worked out every few seconds. The arrays only get longer.

ticket: practice
class: host-growth
holder: scores clicked
cause: buffer-without-bound results-kept
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
        self.scores = np.empty(0, np.float32)
        self.clicked = np.empty(0, np.int64)

    def update(self, scores, clicked):
        self.scores = np.concatenate([self.scores, scores])
        self.clicked = np.concatenate([self.clicked, clicked])  # grows keeps

    def compute(self):
        edges = np.linspace(0, 1, 513)
        hits = np.histogram(self.scores[self.clicked == 1], edges)[0][::-1].cumsum()
        misses = np.histogram(self.scores[self.clicked == 0], edges)[0][::-1].cumsum()
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
