"""What is kept: objects in a dictionary.

ticket: practice
class: host-growth
holder: sessions
cause: -
"""

import os
import random
import time

import torch

END = time.time() + float(os.environ.get("SECONDS", "40"))


def make():
    return torch.randn(16384 + random.randrange(64))  # grows


def running():
    """Waits a moment. Whether the program goes on."""
    time.sleep(0.012)
    return time.time() < END


class Session:
    def __init__(self, n):
        self.n, self.state = n, make()


class Server:
    def __init__(self):
        self.sessions = {}

    def open(self, n):
        self.sessions[n] = Session(n)  # keeps
        return self.sessions[n]


def main():
    s, n = Server(), 0
    while running():
        n += 1
        s.open(n)


main()
