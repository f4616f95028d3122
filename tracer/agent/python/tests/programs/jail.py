"""Drops its privileges after chroot."""

import os
import tempfile
import time

import gpumem

os.chroot(tempfile.mkdtemp())
os.chdir("/")
os.setgid(65534)
os.setuid(65534)
for _ in range(10):
    gpumem.step()
    time.sleep(0.02)
child = os.fork()
if child == 0:
    time.sleep(0.2)
    os._exit(0)
print(os.waitpid(child, 0)[1])
