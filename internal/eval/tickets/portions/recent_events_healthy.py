"""The last 1,500 events are kept for whoever asks.

ticket: none, a ring
class: none
"""

import collections
import os
import random
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))
random.seed(81)
recent = collections.deque(maxlen=1500)
n = 0
while time.time() < END:
    for _ in range(random.randrange(1, 4)):
        recent.append({"n": n, "body": "e%d" % n * random.randrange(200, 3000)})
        n += 1
    time.sleep(random.choice((0.01, 0.02, 0.1)))
print(n, len(recent))
