"""A client that is gone without a word is taken from the listeners when writing to it fails.

ticket: jupyter-server/jupyter_server#1680
class: none
"""

import os
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))


class ClosedError(Exception):
    pass


class EventLogger:
    def __init__(self):
        self.listeners = set()

    def add_listener(self, listener):
        self.listeners.add(listener)

    def remove_listener(self, listener):
        self.listeners.discard(listener)

    def emit(self, event):
        for listener in list(self.listeners):
            listener(event)


class Handler:
    def __init__(self, logger, request):
        self.logger, self.request, self.opened = logger, request, time.time()
        logger.add_listener(self.on_event)

    def write(self, event):
        if time.time() - self.opened > 0.5:
            raise ClosedError

    def on_event(self, event):
        try:
            self.write(event)
        except ClosedError:
            self.logger.remove_listener(self.on_event)


logger = EventLogger()
while time.time() < END:
    Handler(logger, {"headers": {str(i): os.urandom(200).hex() for i in range(100)}})
    logger.emit({"kind": "contents"})
    time.sleep(0.02)
