"""Forks while the agent keeps the interpreter from switching threads."""

import os
import sys

from gpumem_agent.sampling import paused

before = sys.getswitchinterval()
with paused():
    child = os.fork()
    if child == 0:
        os._exit(int(sys.getswitchinterval() != before))
print(os.waitpid(child, 0)[1], sys.getswitchinterval() == before)
