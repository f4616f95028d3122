"""Geophones on a glacier: short records of icequakes go down to the valley over a narrow radio link.

A string of sixteen geophones yields records all the time. A short-term over long-term average picks
those worth sending; they wait for the link in the order of their strength, strongest first. The link
is a thread of its own that compresses a record into a band spectrum and sends it at the pace of the
radio.

ticket: practice
class: host-growth
holder: waiting heap
cause: unbounded-queue
"""
import heapq
import os
import threading
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np

CHANNELS = 16
SAMPLES = 8000
RECORDS_A_SECOND = 18
RADIO_SECONDS = 0.3


class GeophoneString:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        ramp = np.arange(SAMPLES, dtype=np.float32)
        self.ring_down = np.exp(-ramp / 700.0) * np.sin(ramp / 9.0)

    def record(self):
        traces = self.rng.standard_normal((CHANNELS, SAMPLES), dtype=np.float32)  # grows
        if self.rng.random() < 0.85:
            onset = int(self.rng.integers(500, SAMPLES - 1500))
            strength = float(self.rng.gamma(2.0, 2.5))
            traces[:, onset:] += strength * self.ring_down[: SAMPLES - onset]
        return traces


def trigger_ratio(traces, short=100, long=2000):
    """Largest ratio of the short-term to the long-term average of the stacked energy."""
    energy = np.square(traces[::4]).mean(axis=0)
    total = np.concatenate(([0.0], np.cumsum(energy)))
    fast = (total[long:] - total[long - short: -short]) / short
    slow = (total[long:] - total[:-long]) / long
    return float((fast / (slow + 1e-6)).max())


class Dispatch:
    """Records that wait for the radio, strongest first."""

    def __init__(self):
        self.heap = []
        self.news = threading.Condition()
        self.serial = 0

    def offer(self, ratio, traces):
        with self.news:
            self.serial += 1
            heapq.heappush(self.heap, (-ratio, self.serial, traces))  # keeps
            self.news.notify()

    def take(self, patience):
        with self.news:
            if not self.heap:
                self.news.wait(patience)
            return heapq.heappop(self.heap) if self.heap else None


class RadioLink(threading.Thread):
    def __init__(self, waiting):
        super().__init__(name="radio", daemon=True)
        self.waiting = waiting
        self.closing = threading.Event()
        self.sent = 0
        self.last_bands = np.zeros(8)

    def run(self):
        while not self.closing.is_set():
            item = self.waiting.take(patience=0.2)
            if item is None:
                continue
            ratio, serial, traces = item
            power = np.abs(np.fft.rfft(traces[0])) ** 2
            self.last_bands = np.array([band.mean() for band in np.array_split(power, 8)])
            self.sent += 1
            self.closing.wait(RADIO_SECONDS)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    string = GeophoneString(seed=4478)
    dispatch = Dispatch()
    radio = RadioLink(dispatch)
    radio.start()
    picked, seen, next_word = 0, 0, time.time() + 2.5
    due = time.time()
    while (now := time.time()) < end:
        traces = string.record()
        seen += 1
        ratio = trigger_ratio(traces)
        if ratio > 1.4:
            picked += 1
            dispatch.offer(ratio, traces)
        if now > next_word:
            next_word = now + 2.5
            print(f"records {seen}, picked {picked}, sent {radio.sent}, "
                  f"lowest band {radio.last_bands[0]:.0f}", flush=True)
        due = max(due + 1.0 / RECORDS_A_SECOND, time.time())
        time.sleep(due - time.time() if due > time.time() else 0.0)
    radio.closing.set()
    radio.join(timeout=2.0)
    print(f"station off after {seen} records", flush=True)


if __name__ == "__main__":
    main()
