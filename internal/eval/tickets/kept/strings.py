"""What is kept: one text that gets longer.

ticket: practice
class: host-growth
holder: text
cause: -
"""

import os
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))


def running():
    """Waits a moment. Whether the program goes on."""
    time.sleep(0.012)
    return time.time() < END


class Transcript:
    def __init__(self):
        self.text = ""

    def add(self, piece):
        self.text += piece  # keeps


def main():
    t = Transcript()
    while running():
        t.add("word " * 15000)


main()
