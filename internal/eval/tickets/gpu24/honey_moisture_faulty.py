"""How moist is the honey, by what it does to light? A kernel regression in CuPy says so, and this program looks for
its bandwidths. Each trial is worked out on a stream of its own, so that nothing else on the device holds it up. The
search draws near the best that it has found and, now and then, anywhere.

ticket: practice
class: pool-growth
holder: streams Search
cause: pool-for-each-stream pool-never-trims
"""

import os
import random
import time

import cupy as cp
import numpy as np

JARS, FOLDS, COLOURS = 1800, 3, 4


class Search:
    def __init__(self):
        self.best_error, self.best = float("inf"), [1.0] * COLOURS
        self.streams = []

    def propose(self):
        if random.random() < 0.2:
            return [10 ** random.uniform(-1.5, 1.0) for _ in range(COLOURS)]
        return [width * 2 ** random.gauss(0, 0.3) for width in self.best]

    def stream(self):
        """The stream for the next trial."""
        stream = cp.cuda.Stream(non_blocking=True)
        self.streams.append(stream)  # keeps
        return stream

    def tell(self, widths, error):
        if error < self.best_error:
            self.best_error, self.best = error, widths

    def finish(self):
        for stream in self.streams:
            stream.synchronize()


def honey(rng):
    """Light absorbed at some colours, and the moisture, in per cent, of jars from which we know it."""
    light = rng.normal(size=(COLOURS, JARS))
    moisture = 17 + np.sin(2 * light[0]) + 0.5 * light[1] * light[2] + 0.1 * rng.normal(size=JARS)
    return light.astype(np.float32), moisture.astype(np.float32)


def foretell(known, moisture, asked, widths):
    """The moisture of the jars asked for: a mean of the known, by how near they are."""
    distance = cp.zeros((asked.shape[1], known.shape[1]), dtype=cp.float32)  # grows
    for colour, width in enumerate(widths):
        apart = asked[colour][:, None] - known[colour][None, :]  # grows
        distance += (apart / width) ** 2  # grows
    weights = cp.exp(-0.5 * distance)  # grows
    return (weights * moisture).sum(axis=1) / (weights.sum(axis=1) + 1e-12)  # grows


def trial(stream, light, moisture, widths):
    """The error of these bandwidths over all folds."""
    size, errors = JARS // FOLDS, []
    with stream:
        for fold in range(FOLDS):
            held = cp.arange(fold * size, (fold + 1) * size)
            rest = cp.concatenate([cp.arange(fold * size), cp.arange((fold + 1) * size, JARS)])
            guess = foretell(light[:, rest], moisture[rest], light[:, held], widths)
            errors.append(cp.abs(guess - moisture[held]).mean())
        error = float(sum(errors)) / FOLDS
    stream.synchronize()
    return error


def main():
    random.seed(11)
    light, moisture = (cp.asarray(part) for part in honey(np.random.default_rng(11)))
    cp.cuda.Device().synchronize()
    search, tried = Search(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        widths = search.propose()
        search.tell(widths, trial(search.stream(), light, moisture, widths))
        tried += 1
        if tried % 10 == 0:
            shown = " ".join(f"{width:.2f}" for width in search.best)
            print(f"{tried} trials: off by {search.best_error:.3f} per cent with {shown}", flush=True)
        time.sleep(random.uniform(0.3, 0.6))
    search.finish()


if __name__ == "__main__":
    main()
