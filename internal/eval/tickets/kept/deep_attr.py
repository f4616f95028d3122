"""What is kept: a list ten references below a variable.

ticket: practice
class: host-growth
holder: lines
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


class A: pass


def main():
    app = A(); app.engine = A(); app.engine.loop = A(); app.engine.loop.callbacks = [A()]
    app.engine.loop.callbacks[0].log = A(); app.engine.loop.callbacks[0].log.lines = []
    while running():
        app.engine.loop.callbacks[0].log.lines.append({"out": A()})  # keeps
        app.engine.loop.callbacks[0].log.lines[-1]["out"].data = make()


main()
