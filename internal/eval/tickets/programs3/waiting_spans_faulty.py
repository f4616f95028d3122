"""Requests are traced, and a thread sends the spans away, some at a time. More come than can be sent, and
those that wait to be sent wait in memory.

ticket: census-instrumentation/opencensus-python#590
class: host-growth
holder: waiting spans
cause: unbounded-queue
"""

import collections
import contextlib
import logging
import os
import random
import threading
import time
import uuid

log = logging.getLogger("tracing")


class Span:
    def __init__(self, name, parent):
        self.name, self.id, self.parent = name, uuid.uuid4().hex, parent
        self.began, self.ended, self.attributes, self.events = time.time(), None, {}, []


class Exporter:
    def __init__(self, batch=64):
        self.waiting, self.batch = collections.deque(), batch
        self.exported, self.stop = 0, threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def add(self, span):
        self.waiting.append(span)  # grows

    def send(self, spans):
        size = sum(len(str(span.attributes)) for span in spans)
        time.sleep(0.1 + size / 5e6)
        self.exported += len(spans)

    def run(self):
        while not self.stop.is_set():
            spans = [self.waiting.popleft() for _ in range(min(self.batch, len(self.waiting)))]
            if spans:
                self.send(spans)
            else:
                time.sleep(0.05)


class Tracer:
    def __init__(self, exporter):
        self.exporter, self.open = exporter, []

    @contextlib.contextmanager
    def span(self, name, **attributes):
        span = Span(name, self.open[-1].id if self.open else None)
        span.attributes.update(attributes)
        self.open.append(span)
        try:
            yield span
        finally:
            span.ended = time.time()
            self.exporter.add(self.open.pop())


class Application:
    def __init__(self, tracer):
        self.tracer, self.requests = tracer, 0

    def handle(self, path):
        self.requests += 1
        with self.tracer.span("request", path=path, agent="client/%d" % random.randrange(900)) as span:
            for number in range(random.randint(2, 9)):
                with self.tracer.span("query", statement="SELECT " + ", ".join(
                        "column_%d" % random.randrange(10000) for _ in range(40))) as query:
                    query.events.append({"rows": random.randrange(500), "number": number})
            span.attributes["body"] = os.urandom(400).hex()


def main():
    logging.basicConfig(level=logging.INFO)
    end, exporter = time.time() + float(os.environ.get("SECONDS", "45")), Exporter()
    application = Application(Tracer(exporter))
    while time.time() < end:
        for _ in range(random.choice([5, 20, 60, 120])):
            application.handle("/items/%d" % random.randrange(10 ** 6))
        log.info("%d requests, %d spans sent", application.requests, exporter.exported)
        time.sleep(random.choice([0.1, 0.3, 0.5]))
    exporter.stop.set()
    exporter.thread.join()


if __name__ == "__main__":
    main()
