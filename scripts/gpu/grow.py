"""A program without steps that grows: inference whose outputs a list keeps, or native code.

Usage: grow.py list|native|none [SECONDS]. Its last line has its turns, the processor time that
all threads but the first took, and its longest turn.
"""

import ctypes
import os
import sys
import time

import torch


def processor_seconds():
    """What each thread has taken of a processor, by its number."""
    taken = {}
    for thread in os.listdir("/proc/self/task"):
        with open("/proc/self/task/%s/stat" % thread) as file:
            fields = file.read().rsplit(")", 1)[1].split()
        taken[int(thread)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return taken


def main():
    kind, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 60
    net = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(4)]).cuda().eval()
    kept, turns, longest = [], 0, 0.0
    with torch.inference_mode():
        for _ in range(20):
            net(torch.randn(64, 512, device="cuda")).sum().item()
        begin = time.perf_counter()
        while time.perf_counter() - begin < seconds:
            at = time.perf_counter()
            net(torch.randn(64, 512, device="cuda")).sum().item()
            turns += 1
            if turns % 40 == 0 and kind != "none":
                output = torch.empty(1 << 16, device="cuda")
                if kind == "native":
                    ctypes.pythonapi.Py_IncRef(ctypes.py_object(output))
                else:
                    kept.append(output)
                del output
            longest = max(longest, time.perf_counter() - at)
    taken = processor_seconds()
    taken.pop(os.getpid())
    print(
        "%s: %d turns, longest %.1f ms, busiest other threads %s s"
        % (kind, turns, 1000 * longest, sorted(taken.values(), reverse=True)[:3]),
        flush=True,
    )


if __name__ == "__main__":
    main()
