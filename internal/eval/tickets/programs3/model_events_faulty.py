"""Statistical models are built for each signal that is looked for, and want to know when the precision is
switched. They subscribe to an event of the module with a method of their own, and nobody unsubscribes them.

ticket: scikit-hep/pyhf#1035
class: host-growth
holder: subscribers precision_changed
cause: callbacks-left
"""

import logging
import os
import random
import time

import numpy as np

log = logging.getLogger("limits")


class Event:
    def __init__(self):
        self.subscribers = []

    def subscribe(self, callback):
        self.subscribers.append(callback)  # keeps

    def emit(self):
        for callback in self.subscribers:
            callback()


class Backend:
    def __init__(self):
        self.precision, self.precision_changed = "float64", Event()

    def switch(self, precision):
        if precision != self.precision:
            self.precision = precision
            self.precision_changed.emit()

    def array(self, values):
        return np.asarray(values, dtype=self.precision)


class Channel:
    """Expected counts in the bins of a channel, for each way in which they may vary."""

    def __init__(self, backend, bins, variations):
        self.backend = backend
        self.nominal = np.random.default_rng(bins).random(bins) * 40
        self.shifts = np.random.default_rng(variations).normal(0, 0.05, (variations, bins))  # grows
        backend.precision_changed.subscribe(self.prepare)
        self.prepare()

    def prepare(self):
        self.ready = self.backend.array(self.nominal), self.backend.array(self.shifts)

    def expected(self, strength, nuisance):
        nominal, shifts = self.ready
        return nominal * (1 + strength * 0.1) * np.exp(nuisance @ shifts)


class Model:
    def __init__(self, backend, channels):
        self.channels = [Channel(backend, random.randint(40, 160), 250) for _ in range(channels)]

    def likelihood(self, strength, observed):
        total = 0.0
        for channel, counts in zip(self.channels, observed):
            mean = channel.expected(strength, np.zeros(250))
            total += float((mean - counts * np.log(mean + 1e-9)).sum())
        return total


def limit(backend):
    model = Model(backend, random.randint(2, 5))
    observed = [np.random.poisson(channel.nominal) for channel in model.channels]
    return min((model.likelihood(s, observed), s) for s in np.linspace(0, 3, 25))[1]


def main():
    logging.basicConfig(level=logging.INFO)
    end, backend, limits = time.time() + float(os.environ.get("SECONDS", "45")), Backend(), []
    while time.time() < end:
        limits.append(limit(backend))
        if len(limits) % 25 == 0:
            backend.switch(random.choice(["float32", "float64"]))
            log.info("%d signals, mean limit %.2f, %s", len(limits), np.mean(limits), backend.precision)
        time.sleep(random.choice([0.05, 0.1, 0.2, 0.4]))


if __name__ == "__main__":
    main()
