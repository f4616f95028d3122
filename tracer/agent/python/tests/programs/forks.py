"""Forks 1,000 children that end at once, with the sampling thread at work
beside. logging has handlers of its own around a fork."""

import logging
import os
import time

good = 0
for _ in range(1000):
    child = os.fork()
    if child == 0:
        os._exit(3)
    _, status = os.waitpid(child, 0)
    good += os.WEXITSTATUS(status) == 3
time.sleep(1.5)
print(good, logging.__name__)
