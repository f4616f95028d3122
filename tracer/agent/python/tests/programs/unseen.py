"""What a program can see of the agent: nothing in these places."""

import os
import sys
import threading

print(threading.active_count(), [t.name for t in threading.enumerate()])
with open(os.devnull) as f:
    print(f.fileno())
frameworks = {"torch", "jax", "cupy", "mlx", "numpy", "ctypes", "socket", "json"}
print(sorted(frameworks & set(sys.modules)))
import torch

loader = torch.__spec__.loader
print(type(loader).__name__, "exec_module" in vars(loader), torch.__loader__ is loader)
child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
print("end")
