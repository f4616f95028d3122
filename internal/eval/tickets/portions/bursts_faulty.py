"""A report is made now and then, and its lines are kept for the case that somebody asks for them again.

ticket: none, what bursts leave behind
class: host-growth
holder: archive
cause: results-kept
"""

import os
import random
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))
random.seed(31)
archive = []


def report(rows):
    table = []
    for i in range(rows):
        table.append("%d,%f,%s" % (i, random.random(), "y" * random.randrange(200)))
        if i % 2000 == 0:
            time.sleep(0.01)
    time.sleep(random.choice((0.0, 0.5, 1.0)))
    archive.extend(table[:20_000])  # grows
    return sum(map(len, table))


sent = 0
while time.time() < END:
    sent += report(random.randrange(30_000, 100_000)) > 0
    for _ in range(random.randrange(10, 60)):
        sum(range(2000))
        time.sleep(0.02)
print(sent, len(archive))
