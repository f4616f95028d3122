"""Recordings of a forest are cut: of each the loudest moments are kept for a catalogue. What is kept are slices,
and a slice keeps the recording of which it is.

ticket: numpy/numpy#15746
class: host-growth
holder: calls catalogue
cause: results-kept
"""

import collections
import logging
import os
import random
import time

import numpy as np

log = logging.getLogger("forest")
RATE = 16000


def record(seconds, draw):
    """A recording with some calls in the noise."""
    sound = draw.normal(0, 0.02, int(seconds * RATE)).astype("float32")
    for _ in range(random.randint(1, 4)):
        start = draw.integers(0, len(sound) - RATE // 4)
        length = int(draw.integers(RATE // 20, RATE // 5))
        pitch = draw.uniform(800, 4000)
        sound[start:start + length] += np.sin(np.arange(length) * 2 * np.pi * pitch / RATE).astype("float32")
    return sound


class Detector:
    def __init__(self, width=800):
        self.width = width

    def find(self, sound):
        """The loudest windows, as parts of the recording."""
        windows = sound[: len(sound) // self.width * self.width].reshape(-1, self.width)
        power = (windows ** 2).mean(1)
        for number in np.argsort(power)[-3:]:
            if power[number] > 0.01:
                yield int(number), windows[number]


class Catalogue:
    def __init__(self):
        self.calls, self.recordings = collections.defaultdict(list), 0

    def add(self, site, sound, detector):
        self.recordings += 1
        for number, call in detector.find(sound):
            self.calls[site].append((number, call))  # grows

    def pitch(self, site):
        spectrum = np.abs(np.fft.rfft(self.calls[site][-1][1]))
        return float(spectrum.argmax()) * RATE / 800


def main():
    logging.basicConfig(level=logging.INFO)
    end, draw = time.time() + float(os.environ.get("SECONDS", "45")), np.random.default_rng(2)
    catalogue, detector = Catalogue(), Detector()
    while time.time() < end:
        site = random.choice(["brook", "ridge", "pond"])
        catalogue.add(site, record(random.uniform(4, 20), draw), detector)
        if catalogue.recordings % 20 == 0 and catalogue.calls[site]:
            log.info("%d recordings, last call at %s near %.0f Hz", catalogue.recordings, site,
                     catalogue.pitch(site))
        time.sleep(random.choice([0.1, 0.2, 0.3, 0.8]))


if __name__ == "__main__":
    main()
