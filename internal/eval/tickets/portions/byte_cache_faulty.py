"""Thumbnails are kept up to 48 MiB, but what is counted is their number.

ticket: none, a bound that does not bind
class: host-growth
holder: kept thumbnails
cause: results-kept cache-without-bound
"""

import collections
import os
import random
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))
random.seed(61)


class Thumbnails:
    def __init__(self, most):
        self.kept, self.most = collections.OrderedDict(), most

    def of(self, number):
        if number in self.kept:
            self.kept.move_to_end(number)
            return self.kept[number]
        image = os.urandom(random.randrange(10_000, 90_000))
        self.kept[number] = image  # grows
        while len(self.kept) > self.most:
            self.kept.popitem(last=False)
        return image


thumbnails = Thumbnails(48 << 20)
served = 0
while time.time() < END:
    served += len(thumbnails.of(int(random.paretovariate(0.2)) % 10_000_000)) > 0
    time.sleep(0.015)
print(served, len(thumbnails.kept))
