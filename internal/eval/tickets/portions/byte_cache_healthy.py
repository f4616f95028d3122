"""Thumbnails are kept up to 48 MiB; the oldest go when there are more.

ticket: none, a cache with a bound of bytes
class: none
"""

import collections
import os
import random
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))
random.seed(61)


class Thumbnails:
    def __init__(self, most):
        self.kept, self.bytes, self.most = collections.OrderedDict(), 0, most

    def of(self, number):
        if number in self.kept:
            self.kept.move_to_end(number)
            return self.kept[number]
        image = os.urandom(random.randrange(10_000, 90_000))
        self.kept[number] = image
        self.bytes += len(image)
        while self.bytes > self.most:
            _, old = self.kept.popitem(last=False)
            self.bytes -= len(old)
        return image


thumbnails = Thumbnails(48 << 20)
served = 0
while time.time() < END:
    served += len(thumbnails.of(int(random.paretovariate(0.4)) % 100_000)) > 0
    time.sleep(0.008)
print(served, len(thumbnails.kept))
