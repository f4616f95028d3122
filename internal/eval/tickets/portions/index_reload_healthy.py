"""A service looks words up in an index that it reads again every few seconds, in place of the one before.

ticket: none, an index that is read again
class: none
"""

import os
import random
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))
random.seed(21)


def read(version):
    return {"word-%d" % i: ("place", i * version, "x" * (i % 40)) for i in range(60_000 + random.randrange(8_000))}


index, version, due, found = {}, 0, 0.0, 0
while time.time() < END:
    if time.time() >= due:
        version += 1
        index = read(version)
        due = time.time() + random.uniform(4, 9)
    for _ in range(200):
        found += index.get("word-%d" % random.randrange(70_000)) is not None
    time.sleep(0.03)
print(found, version, len(index))
