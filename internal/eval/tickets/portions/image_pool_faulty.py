"""A pool of generated images has a size that nobody looks at.

ticket: none, a pool without a bound
class: host-growth
holder: images
cause: results-kept
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
        self.images.append(image)  # grows
        return random.choice(self.images)


pool = ImagePool(600)
done = 0
while time.time() < END:
    fake = torch.rand(3, 96, 96)
    done += pool.query(fake).shape[0]
    time.sleep(0.04)
print(done, len(pool.images))
