"""A worker takes jobs from a queue: it plans the rounds of parcel vans by swapping stops. Each job has a logger of its
own name that writes into memory, so that the log can go with the plan to the one who asked. The logging module keeps
loggers by name for good, and with each its handler and what that wrote.

ticket: practice
class: host-growth
holder: loggerDict handlers stream
cause: loggers-added buffer-without-bound
"""

import hashlib
import io
import logging
import math
import os
import queue
import random
import threading
import time
import zlib

FORMAT = logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s")


class JobLog:
    """The log of one job, collected to be sent along with its result."""

    def __init__(self, job):
        self.stream = io.StringIO()
        self.log = logging.getLogger(f"worker.job-{job}")
        self.log.setLevel(logging.DEBUG)
        self.log.propagate = False
        self.handler = logging.StreamHandler(self.stream)
        self.handler.setFormatter(FORMAT)
        self.log.addHandler(self.handler)  # keeps

    def finish(self):
        self.handler.flush()
        return zlib.compress(self.stream.getvalue().encode(), 1)  # grows


def length(stops, order):
    return sum(math.dist(stops[order[i - 1]], stops[order[i]]) for i in range(len(order)))


def plan(stops, log, rounds):
    """Two-opt: turns parts of the way round as long as that makes it shorter."""
    order, best = list(range(len(stops))), length(stops, range(len(stops)))
    log.info("start with %d stops, %.1f km", len(stops), best)
    for turn in range(rounds):
        i, j = sorted(random.sample(range(len(order)), 2))
        tried = order[:i] + order[i:j + 1][::-1] + order[j + 1:]
        new = length(stops, tried)
        taken = new < best
        log.debug("turn %d: stops %d to %d, %.3f km against %.3f km, taken=%s, way %s", turn, i, j, new, best, taken,
                  "-".join(map(str, tried)))  # grows
        if taken:
            order, best = tried, new
    log.info("done, %.1f km", best)
    return order, best


def work(jobs, tally):
    while (job := jobs.get()) is not None:
        number, stops = job
        kept = JobLog(hashlib.sha1(str(number).encode()).hexdigest()[:10])
        _, way = plan(stops, kept.log, random.randint(250, 900))
        tally["sent"] += len(kept.finish())
        tally["done"] += 1
        tally["way"] += way
        time.sleep(random.uniform(0.01, 0.06))


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    jobs, tally, number, told = queue.Queue(maxsize=4), {"done": 0, "sent": 0, "way": 0.0}, 0, time.time()
    worker = threading.Thread(target=work, args=(jobs, tally), name="worker")
    worker.start()
    while time.time() < end:
        number += 1
        stops = [(random.uniform(0, 30), random.uniform(0, 30)) for _ in range(random.randint(40, 120))]
        jobs.put((number, stops))
        if time.time() - told > 2:
            way = round(tally["way"] / max(tally["done"], 1), 1)
            print(tally["done"], "plans", way, "km a round", tally["sent"] >> 10, "KiB of logs sent", flush=True)
            told = time.time()
        time.sleep(random.uniform(0.02, 0.1))
    jobs.put(None)
    worker.join()


if __name__ == "__main__":
    main()
