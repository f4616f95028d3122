"""Records go to a memory handler that is flushed at a hundred.

ticket: googleapis/python-logging#49
class: none
"""

import logging
import logging.handlers
import os
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))
target = logging.NullHandler()
memory = logging.handlers.MemoryHandler(capacity=100, target=target)
log = logging.getLogger("shop")
log.setLevel(logging.INFO)
log.addHandler(memory)


def view(request):
    log.info("request %r", request)
    return len(request["body"])


while time.time() < END:
    view({"path": "/", "body": os.urandom(15_000)})
    time.sleep(0.01)
