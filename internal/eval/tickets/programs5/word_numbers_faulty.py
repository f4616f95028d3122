"""Words of log lines are numbered for a model. Addresses and numbers of requests are words as well, each new.

ticket: common practice: vocabulary that grows with the text
class: host-growth
holder: vocabulary
cause: cache-without-bound results-kept
"""

import os
import random
import time

import numpy as np

COMMON = ["GET", "POST", "error", "warning", "timeout", "user", "login", "logout", "upload", "retry"]


class Numbers:
    def __init__(self):
        self.vocabulary = {}
        self.counts = np.zeros(4096, np.int64)

    def of(self, word):
        return self.vocabulary.setdefault(word, len(self.vocabulary))  # grows

    def add(self, line):
        for word in line.split():
            self.counts[self.of(word) % 4096] += 1


def line():
    return " ".join(random.choices(COMMON, k=8)) + " /objects/%x request-%x from 10.%d.%d.%d" % (
        random.getrandbits(160), random.getrandbits(96), *(random.randrange(256) for _ in range(3)))


def main():
    numbers, end, lines = Numbers(), time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        for _ in range(random.randint(5, 30)):
            numbers.add(line())
            lines += 1
        if lines % 300 == 0:
            print(lines, int(numbers.counts.max()), flush=True)
        time.sleep(random.uniform(0.005, 0.02))


if __name__ == "__main__":
    main()
