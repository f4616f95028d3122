"""What is kept: a list of a thread's own.

ticket: practice
class: host-growth
holder: kept
cause: -
"""

import os
import random
import threading
import time

import torch

END = time.time() + float(os.environ.get("SECONDS", "40"))


def make():
    return torch.randn(16384 + random.randrange(64))  # grows


def running():
    """Waits a moment. Whether the program goes on."""
    time.sleep(0.012)
    return time.time() < END


local = threading.local()


def work():
    local.kept = []
    while running():
        local.kept.append(make())  # keeps


t = threading.Thread(target=work)
t.start()
t.join()
