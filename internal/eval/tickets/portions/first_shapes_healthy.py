"""A model serves prompts that are padded to one of ten lengths; the long ones come seldom.

ticket: none, shapes that are computed for the first time
class: none
"""

import os
import random
import time

import torch

torch.set_num_threads(1)
END = time.time() + float(os.environ.get("SECONDS", "40"))
LENGTHS = [16 * 1.6**i for i in range(10)]
random.seed(5)
model = torch.nn.Sequential(
    torch.nn.Conv1d(16, 64, 5, padding=2), torch.nn.GELU(), torch.nn.Conv1d(64, 64, 5, padding=2), torch.nn.GELU(),
    torch.nn.Conv1d(64, 8, 3, padding=1),
).eval()
done = 0
with torch.inference_mode():
    while time.time() < END:
        length = int(LENGTHS[min(9, int(random.expovariate(0.6)))])
        answer = model(torch.randn(random.choice((1, 2, 4)), 16, length)).mean().item()
        done += 1
        time.sleep(0.03)
print(done, answer)
