"""What is kept: texts in a list.

ticket: practice
class: host-growth
holder: entries
cause: -
"""

import json
import os
import random
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))


def running():
    """Waits a moment. Whether the program goes on."""
    time.sleep(0.012)
    return time.time() < END


class Audit:
    def __init__(self):
        self.entries = []

    def note(self, payload):
        self.entries.append(json.dumps(payload))  # keeps


def main():
    a = Audit()
    while running():
        a.note({"rows": [[random.random() for _ in range(40)] for _ in range(60)]})


main()
