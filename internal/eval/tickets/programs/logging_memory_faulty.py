"""Records go to a memory handler that nobody flushes, each with the request it is about.

ticket: googleapis/python-logging#49
class: host-growth
holder: buffer
cause: log-records-kept
"""

import logging
import logging.handlers
import os
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))
target = logging.NullHandler()
memory = logging.handlers.MemoryHandler(capacity=10**9, target=target)
log = logging.getLogger("shop")
log.setLevel(logging.INFO)
log.addHandler(memory)


def view(request):
    log.info("request %r", request)  # grows
    return len(request["body"])


while time.time() < END:
    view({"path": "/", "body": os.urandom(15_000)})
    time.sleep(0.01)
