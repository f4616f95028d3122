"""How fast is an enzyme at which temperature and acidity? A Gaussian process is fitted to measurements, its lengths and
noise are searched for at random. Some of the drawn settings have matrices that can't be factorised; that must not end
the search, and it is noted what went wrong, to be told at the end.

ticket: practice
class: host-growth
holder: errors failures Tolerant __traceback__ tb_frame
cause: exception-kept tracebacks-kept
"""

import os
import random
import time

import numpy as np
import torch

MEASURED, ASKED = 512, 40


class Tolerant:
    """A context in which a trial may fail."""

    def __init__(self, *kinds):
        self.kinds, self.errors = kinds, []

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if kind is None or not issubclass(kind, self.kinds):
            return False
        self.errors.append(error)  # keeps
        return True

    def __str__(self):
        return f"{len(self.errors)} failed" + (f" (last: {self.errors[-1]})" if self.errors else "")


def measurements(rng):
    """Temperature and acidity from 0 to 1, and the rate."""
    where = rng.random((MEASURED, 2))
    rate = np.exp(-((where[:, 0] - 0.6) / 0.2) ** 2) * np.exp(-((where[:, 1] - 0.4) / 0.3) ** 2)
    return where, rate + 0.02 * rng.standard_normal(MEASURED)


def draw():
    return {"temperature": 10 ** random.uniform(-1, 0.5), "acidity": 10 ** random.uniform(-1, 0.5),
            "noise": 10 ** random.uniform(-22, -3)}


def squared(left, right, setting):
    lengths = np.array([setting["temperature"], setting["acidity"]])
    return (((left[:, None] - right[None]) / lengths) ** 2).sum(-1)


def fit(where, rate, setting):
    """How likely the measurements are, and the weights for predictions."""
    kernel = np.exp(-0.5 * squared(where, where, setting))  # grows
    covariance = kernel + setting["noise"] * np.eye(len(where))  # grows
    factor = np.linalg.cholesky(covariance)
    half = np.linalg.solve(factor, rate)
    likely = -0.5 * half @ half - np.log(np.diag(factor)).sum()
    return likely, np.linalg.solve(factor.T, half)


def chart(where, weights, setting, device):
    """The rate over a fine grid of temperatures and acidities."""
    line = torch.linspace(0, 1, ASKED, device=device)
    grid = torch.stack(torch.meshgrid(line, line, indexing="ij"), -1).flatten(0, 1)
    lengths = torch.tensor([setting["temperature"], setting["acidity"]], dtype=torch.float32, device=device)
    known = torch.from_numpy(where).float().to(device) / lengths
    kernel = torch.exp(-0.5 * torch.cdist(grid / lengths, known).square())
    return (kernel @ torch.from_numpy(weights).float().to(device)).view(ASKED, ASKED)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    where, rate = measurements(np.random.default_rng(8))
    failures, best, trials = Tolerant(np.linalg.LinAlgError), (-np.inf, None), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        setting = draw()
        with failures:
            likely, weights = fit(where, rate, setting)
            if likely > best[0]:
                best = likely, setting
                top = chart(where, weights, setting, device).argmax().item()
                print("trial", trials, "likelihood", round(likely, 1), "fastest at temperature",
                      round(top // ASKED / ASKED, 2), "acidity", round(top % ASKED / ASKED, 2), flush=True)
        trials += 1
        if trials % 25 == 0:
            print(trials, "trials,", failures, flush=True)
        time.sleep(random.uniform(0.05, 0.25))


if __name__ == "__main__":
    main()
