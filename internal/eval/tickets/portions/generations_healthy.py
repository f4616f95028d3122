"""Answers of any length are generated; what the model remembers of each is dropped with it.

ticket: none, generation of any length
class: none
"""

import os
import random
import time

import torch

torch.set_num_threads(1)
END = time.time() + float(os.environ.get("SECONDS", "40"))
random.seed(51)


def generate(model, length):
    keys = []
    state = torch.randn(1, 256)
    for _ in range(length):
        state = torch.tanh(model(state))
        keys.append(state.repeat(64, 1))
        time.sleep(0.004)
    return torch.cat(keys).mean().item()


model = torch.nn.Linear(256, 256)
done = 0
with torch.inference_mode():
    while time.time() < END:
        generate(model, min(1500, int(random.lognormvariate(4.5, 1.0))))
        done += 1
        time.sleep(0.05)
print(done)
