"""A worker opens a span for each message, as a child of the span that is open. It never closes one, so that
each holds the last.

ticket: open-telemetry: context never detached
class: host-growth
holder: parent current span
cause: results-kept
"""

import contextvars
import os
import queue
import random
import threading
import time

current = contextvars.ContextVar("current", default=None)


class Span:
    def __init__(self, name, attributes):
        self.name, self.attributes = name, attributes
        self.parent = current.get()  # keeps
        self.began = time.monotonic()


def worker(messages):
    while True:
        message = messages.get()
        if message is None:
            return
        span = Span("message", {"payload": message * 2})  # grows
        token = current.set(span)
        time.sleep(random.uniform(0.001, 0.01))


def main():
    messages = queue.Queue(maxsize=10)
    thread = threading.Thread(target=worker, args=(messages,))
    thread.start()
    end, sent = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        messages.put("%x" % random.getrandbits(8 * random.randint(1000, 3000)))
        sent += 1
    messages.put(None)
    thread.join()
    print("sent", sent)


if __name__ == "__main__":
    main()
