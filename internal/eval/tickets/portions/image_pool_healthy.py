"""A pool of 600 generated images is filled, and then each new one takes the place of any.

ticket: none, a pool that fills for half a minute
class: none
"""

import os
import random
import time

import torch

torch.set_num_threads(1)
END = time.time() + float(os.environ.get("SECONDS", "40"))
random.seed(71)


class ImagePool:
    def __init__(self, size):
        self.size = size
        self.images = []

    def query(self, image):
        if len(self.images) < self.size:
            self.images.append(image)
            return image
        at = random.randrange(self.size)
        old, self.images[at] = self.images[at], image
        return old


pool = ImagePool(600)
done = 0
while time.time() < END:
    fake = torch.rand(3, 96, 96)
    done += pool.query(fake).shape[0]
    time.sleep(0.04)
print(done, len(pool.images))
