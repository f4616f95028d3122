"""A model serves prompts of any length; a mask for each length is made once and kept.

ticket: none, a mask for each shape
class: host-growth
holder: masks
cause: results-kept cache-without-bound per-shape-compile-cache
"""

import os
import random
import time

import torch

torch.set_num_threads(1)
END = time.time() + float(os.environ.get("SECONDS", "40"))
random.seed(5)
model = torch.nn.Sequential(
    torch.nn.Conv1d(16, 64, 5, padding=2), torch.nn.GELU(), torch.nn.Conv1d(64, 8, 3, padding=1)
).eval()


class Masks:
    def __init__(self):
        self.masks = {}

    def of(self, batch, length):
        if (batch, length) not in self.masks:
            self.masks[batch, length] = torch.ones(length, length).tril()  # grows
        return self.masks[batch, length]


masks = Masks()
done = 0
with torch.inference_mode():
    while time.time() < END:
        length = random.randrange(100, 700)
        mask = masks.of(random.choice((1, 2, 4)), length)
        answer = model(torch.randn(1, 16, length)).mean().item() + mask[0, 0].item()
        done += 1
        time.sleep(0.04)
print(done, answer)
