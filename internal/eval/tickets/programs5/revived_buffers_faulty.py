"""A buffer goes back to a list of free ones when it dies. Who needs one makes one anew.

ticket: common practice: __del__ that gives back
class: host-growth
holder: free
cause: results-kept buffer-without-bound cache-without-bound
"""

import os
import random
import time

free = []


class Buffer:
    def __init__(self, memory):
        self.memory = memory

    def __del__(self):
        free.append(self.memory)  # keeps


def take():
    return Buffer(bytearray(24 * 1024))  # grows


def main():
    end, turns = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        buffers = [take() for _ in range(random.randint(1, 4))]
        for b in buffers:
            b.memory[:16] = os.urandom(16)
        turns += 1
        if turns % 500 == 0:
            print(turns, buffers[0].memory[0], flush=True)
        del buffers, b
        time.sleep(random.uniform(0.01, 0.04))


if __name__ == "__main__":
    main()
