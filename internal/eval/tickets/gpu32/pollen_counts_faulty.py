"""Forecasts pollen counts from the weather by regression on random features. Each round draws new features and measures
by cross-validation which penalty suits them. Two workers share the folds of a round, so that one can prepare a fold
while the other waits for the GPU.

ticket: practice
class: driver-growth
holder: work Thread worker jobs
cause: threads-kept handle-leak library-workspaces
"""

import os
import queue
import threading
import time

import cupy as cp
import numpy as np

DAYS, WEATHER, FEATURES, FOLDS, WORKERS = 4_000, 24, 256, 8, 2
PENALTIES = 0.1, 1.0, 10.0, 100.0


class Station:
    """The records of a weather station, and the random features of a round."""

    def __init__(self, seed=5):
        random = np.random.default_rng(seed)
        weather = random.normal(size=(DAYS, WEATHER)).astype(np.float32)
        pollen = np.maximum(weather[:, 0], 0) * weather[:, 1] + np.sin(weather[:, 2]) + random.normal(0, 0.3, DAYS)
        self.weather, self.pollen = cp.asarray(weather), cp.asarray(pollen.astype(np.float32))
        self.folds = cp.arange(DAYS) % FOLDS
        self.random = random

    def draw(self):
        directions = self.random.normal(0, 0.4, (WEATHER, FEATURES)).astype(np.float32)
        shifts = self.random.uniform(0, 2 * np.pi, FEATURES).astype(np.float32)
        return directions, shifts


def score_fold(station, drawn, fold):
    """The errors of the penalties on one fold."""
    directions, shifts = (cp.asarray(part) for part in drawn)
    features = cp.cos(station.weather @ directions + shifts)  # grows
    held_out = station.folds == fold
    rows, goals = features[~held_out], station.pollen[~held_out]
    gram, right = rows.T @ rows, rows.T @ goals
    errors = []
    for penalty in PENALTIES:
        weights = cp.linalg.solve(gram + penalty * cp.eye(FEATURES, dtype=gram.dtype), right)  # grows
        missed = features[held_out] @ weights - station.pollen[held_out]
        errors.append(float((missed * missed).mean()))
    return errors


def work(station, jobs, scores):
    while True:
        drawn, fold = jobs.get()
        scores.put(score_fold(station, drawn, fold))


def cross_validate(station):
    drawn, jobs, scores = station.draw(), queue.Queue(), queue.Queue()
    for _ in range(WORKERS):
        threading.Thread(target=work, args=(station, jobs, scores), daemon=True).start()  # keeps
    for fold in range(FOLDS):
        jobs.put((drawn, fold))
        time.sleep(0.5)
    errors = np.mean([scores.get() for _ in range(FOLDS)], axis=0)
    best = int(errors.argmin())
    return PENALTIES[best], errors[best]


def main():
    station, number = Station(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        penalty, error = cross_validate(station)
        number += 1
        print(f"round {number}: penalty {penalty}, squared error {error:.3f}", flush=True)


if __name__ == "__main__":
    main()
