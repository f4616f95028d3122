"""Forks a child that lives long enough to be traced."""

import os
import sys
import time

import gpumem

gpumem.step()
child = os.fork()
if child == 0:
    for _ in range(8):
        gpumem.step()
        time.sleep(0.05)
    os._exit(5)
for _ in range(8):
    gpumem.step()
    time.sleep(0.05)
_, status = os.waitpid(child, 0)
print(os.WEXITSTATUS(status))
sys.exit(0)
