"""Rendered pages are kept in a cache of 300, which is full after some seconds; most of what is asked is new.

ticket: none, a cache that is full
class: none
"""

import functools
import os
import random
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))
random.seed(7)


@functools.lru_cache(maxsize=300)
def page(number):
    return ["%d-%d" % (number, i) for i in range(random.randrange(300, 1800))]


asked = 0
while time.time() < END:
    text = page(random.randrange(1_000_000)) if random.random() < 0.8 else page(random.randrange(50))
    asked += len(text) > 0
    time.sleep(random.choice((0.005, 0.01, 0.05)))
print(asked, page.cache_info())
