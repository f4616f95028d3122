"""Events are kept by the second in which they came, and no second is ever dropped.

ticket: none, events by second
class: host-growth
holder: seconds
cause: results-kept
"""

import collections
import os
import random
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))
random.seed(81)
seconds = collections.defaultdict(list)
n = 0
while time.time() < END:
    for _ in range(random.randrange(1, 4)):
        seconds[int(time.time())].append({"n": n, "body": "e%d" % n * random.randrange(200, 3000)})  # grows
        n += 1
    time.sleep(random.choice((0.01, 0.02, 0.1)))
print(n, len(seconds))
