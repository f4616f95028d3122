"""A decorator remembers what a function gave for a text, the newest 200 of them.

ticket: common practice: a memo of one's own
class: none
"""

import functools
import os
import random
import time
from collections import OrderedDict

import numpy as np


def remember(function):
    memo = OrderedDict()

    @functools.wraps(function)
    def inner(text):
        if text not in memo:
            memo[text] = function(text)
            if len(memo) > 200:
                memo.popitem(last=False)
        return memo[text]

    return inner


@remember
def embed(text):
    rng = np.random.default_rng(abs(hash(text)) % (1 << 32))
    return rng.standard_normal(768).astype(np.float32)


def main():
    words = ["memory", "leak", "grows", "tensor", "queue", "cache", "worker", "step"]
    end, asked = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        text = " ".join(random.choices(words, k=3)) if random.random() < 0.2 else "%x" % random.getrandbits(64)
        vector = embed(text)
        asked += 1
        if asked % 1000 == 0:
            print(asked, float(vector @ vector), flush=True)
        time.sleep(random.uniform(0.001, 0.008))


if __name__ == "__main__":
    main()
