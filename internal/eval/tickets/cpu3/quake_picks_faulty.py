"""Picks the arrival of earthquakes in the traces of a network of seismometers, by the ratio of a short to a long mean.
The picks go to the console. Each trace is logged too, for the day when a pick looks odd; as the disk of the station is
slow, these records are gathered in memory and written fifty at a time, or at once when there is an error.

ticket: practice
class: host-growth
holder: buffer MemoryHandler
cause: log-records-kept
"""

import logging
import logging.handlers
import os
import random
import sys
import time

import numpy as np

RATE, SECONDS_EACH = 100, 240
SHORT, LONG = RATE // 2, 10 * RATE
STATIONS = "BFO", "GRA1", "MOX", "CLL", "WET", "RGN"

log = logging.getLogger("picks")


def set_up_logging():
    log.setLevel(logging.DEBUG)
    log.propagate = False
    console = logging.StreamHandler(sys.stdout)
    console.setLevel(logging.INFO)
    console.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    log.addHandler(console)

    details = logging.FileHandler(os.environ.get("PICKS_LOG", os.devnull))
    details.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(funcName)s: %(message)s"))
    gathered = logging.handlers.MemoryHandler(capacity=50, flushLevel=logging.ERROR)
    log.addHandler(gathered)


def record(rng):
    """The trace of a station: the unrest of the ground, and perhaps a quake in it."""
    trace = rng.normal(0, 1, RATE * SECONDS_EACH)
    if random.random() < 0.3:
        start = random.randrange(2 * LONG, trace.size - LONG)
        after = np.arange(trace.size - start) / RATE
        trace[start:] += random.uniform(5, 20) * np.exp(-after / 8) * np.sin(6.28 * 3 * after)
    return trace


def running_mean(power, length):
    total = np.concatenate([[0.0], np.cumsum(power)])
    return (total[length:] - total[:-length]) / length


def pick(station, trace, threshold=6.0):
    """The second in which a quake arrives, or None."""
    band = trace - np.convolve(trace, np.full(25, 0.04), mode="same")  # grows
    log.debug("%s: band %s", station, band)  # keeps
    power = band**2
    short = running_mean(power, SHORT)[LONG - SHORT :]
    ratio = short / running_mean(power, LONG)  # grows
    log.debug("%s: ratio %s, at most %.2f", station, ratio, ratio.max())  # keeps
    above = np.flatnonzero(ratio > threshold)
    return (above[0] + LONG) / RATE if above.size else None


def main():
    set_up_logging()
    rng, traces, picks = np.random.default_rng(), 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for station in STATIONS:
            arrival = pick(station, record(rng))
            traces += 1
            if arrival is not None:
                picks += 1
                if picks % 10 == 0:
                    log.info("%s at %.1f s; %d picks in %d traces", station, arrival, picks, traces)
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
