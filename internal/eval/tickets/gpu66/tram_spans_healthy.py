"""A city's trams ask when they will be at their stops. Requests wait for a moment, so that a batch of them goes through
the network together. A tracer takes the time of each batch and says which one it follows, and its span carries the
predictions for whoever looks closer; slow ones are printed.

ticket: practice
class: none
"""

import contextlib
import functools
import itertools
import os
import queue
import random
import threading
import time

import torch
from torch import nn

FEATURES, STOPS, LARGEST = 64, 2400, 96


class Span:
    def __init__(self, number, name, follows):
        self.number, self.name = number, name
        self.follows = follows
        self.attributes = {}
        self.began, self.took = time.perf_counter(), 0.0

    def __str__(self):
        after = f" after #{self.follows}" if self.follows else ""
        return f"#{self.number} {self.name}{after}: {1000 * self.took:.1f} ms, {self.attributes['requests']} requests"


class Tracer:
    def __init__(self, slow):
        self.slow, self.numbers, self.last, self.slow_ones = slow, itertools.count(1), None, 0

    @contextlib.contextmanager
    def span(self, name):
        span = Span(next(self.numbers), name, self.last)
        yield span
        span.took = time.perf_counter() - span.began
        self.last = span.number
        if span.took > self.slow or span.number % 30 == 0:
            self.slow_ones += span.took > self.slow
            print(span, flush=True)


class Batcher(threading.Thread):
    """Takes what waits, and answers it at once."""

    def __init__(self, model, device, tracer):
        super().__init__(daemon=True)
        self.model, self.device, self.tracer = model, device, tracer
        self.waiting = queue.Queue(maxsize=2 * LARGEST)
        self.stopped = threading.Event()

    def run(self):
        while not self.stopped.is_set():
            time.sleep(0.08)
            batch = []
            with contextlib.suppress(queue.Empty):
                while len(batch) < LARGEST:
                    batch.append(self.waiting.get_nowait())
            if batch:
                self.answer(batch)

    @torch.inference_mode()
    def answer(self, batch):
        with self.tracer.span("predict") as span:
            features = torch.stack([tram for tram, _ in batch]).to(self.device)
            minutes = self.model(features).exp().cpu().numpy()
            span.attributes["requests"] = len(batch)
            span.attributes["minutes"] = minutes
        for row, (_, reply) in zip(minutes, batch):
            reply(float(row[0]))


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Sequential(nn.Linear(FEATURES, 256), nn.ReLU(), nn.Linear(256, STOPS)).to(device).eval()
    batcher = Batcher(model, device, Tracer(slow=0.25))
    batcher.start()
    first_stops = [0.0] * 50
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for _ in range(random.randint(10, 60)):
            tram = random.randrange(len(first_stops))
            batcher.waiting.put((torch.randn(FEATURES), functools.partial(first_stops.__setitem__, tram)))
        time.sleep(random.uniform(0.03, 0.07))
    batcher.stopped.set()
    batcher.join()
    print(f"mean to the next stop {sum(first_stops) / len(first_stops):.2f} min")


if __name__ == "__main__":
    main()
