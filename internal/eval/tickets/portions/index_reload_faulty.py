"""A service reads its index again every few seconds, and keeps each version for requests that began before.

ticket: none, versions that are kept
class: host-growth
holder: versions
cause: results-kept snapshots-kept cache-without-bound
"""

import os
import random
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))
random.seed(21)
versions = {}


def read(version):
    return {"word-%d" % i: ("place", i * version, "x" * (i % 40)) for i in range(20_000 + random.randrange(3_000))}


version, due, found = 0, 0.0, 0
while time.time() < END:
    if time.time() >= due:
        version += 1
        versions[version] = read(version)  # grows
        due = time.time() + random.uniform(2, 4)
    for _ in range(200):
        found += versions[version].get("word-%d" % random.randrange(23_000)) is not None
    time.sleep(0.03)
print(found, version)
