"""Each connection gets a logger of its own name and a filter with its headers. The logging
module keeps every logger.

ticket: tarasko/picows#72
class: host-growth
holder: loggerDict _cache manager
cause: loggers-added log-records-kept
"""

import logging
import os
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))
root = logging.getLogger("server")
root.addHandler(logging.NullHandler())


class Context(logging.Filter):
    def __init__(self, headers):
        super().__init__()
        self.headers = headers

    def filter(self, record):
        record.peer = self.headers["peer"]
        return True


class Connection:
    def __init__(self, number):
        headers = {"peer": "10.0.0.%d" % number, "cookie": os.urandom(10_000).hex()}
        self.logger = root.getChild(str(number))  # grows
        self.logger.addFilter(Context(headers))

    def handle(self):
        self.logger.warning("request handled")


number = 0
while time.time() < END:
    number += 1
    Connection(number).handle()
    time.sleep(0.01)
