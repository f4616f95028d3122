"""Each connection gets an adapter with its headers around the one logger.

ticket: tarasko/picows#72
class: none
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
        self.logger = logging.LoggerAdapter(root, headers)

    def handle(self):
        self.logger.warning("request handled")


number = 0
while time.time() < END:
    number += 1
    Connection(number).handle()
    time.sleep(0.01)
