"""A report is made now and then: it takes tens of MiB for a moment or for seconds, and is sent.

ticket: none, bursts
class: none
"""

import os
import random
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))
random.seed(31)


def report(rows):
    table = []
    for i in range(rows):
        table.append("%d,%f,%s" % (i, random.random(), "y" * random.randrange(200)))
        if i % 2000 == 0:
            time.sleep(0.01)
    time.sleep(random.choice((0.0, 0.5, 2.5)))
    return sum(map(len, table))


sent = 0
while time.time() < END:
    sent += report(random.randrange(30_000, 200_000)) > 0
    for _ in range(random.randrange(40, 160)):
        sum(range(2000))
        time.sleep(0.02)
print(sent)
