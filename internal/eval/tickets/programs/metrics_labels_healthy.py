"""A counter has a series for each name of a task.

ticket: chrisguidry/docket#164
class: none
"""

import os
import time
import uuid

END = time.time() + float(os.environ.get("SECONDS", "40"))


class Series:
    def __init__(self, labels):
        self.labels = labels
        self.buckets = [0.0] * 40
        self.exemplars = [None] * 40

    def observe(self, value):
        self.buckets[int(value * 39)] += 1


class Histogram:
    def __init__(self, name):
        self.name = name
        self.series = {}

    def labels(self, **labels):
        key = tuple(sorted(labels.items()))
        if key not in self.series:
            self.series[key] = Series(labels)
        return self.series[key]


DURATION = Histogram("task_duration")


def run(task):
    begun = time.perf_counter()
    sum(range(100))
    DURATION.labels(name=task["name"]).observe(min(0.9, time.perf_counter() - begun))


while time.time() < END:
    for _ in range(15):
        run({"name": "reindex", "key": str(uuid.uuid4())})
    time.sleep(0.01)
