"""Answers of any length are generated; what the model remembers of each beginning is kept.

ticket: none, prefixes that are kept
class: host-growth
holder: prefixes
cause: results-kept cache-without-bound
"""

import os
import random
import time

import torch

torch.set_num_threads(1)
END = time.time() + float(os.environ.get("SECONDS", "40"))
random.seed(51)


class Prefixes:
    def __init__(self):
        self.prefixes = {}

    def keep(self, name, keys):
        self.prefixes[name] = torch.cat(keys[:24])  # grows


def generate(model, prefixes, name, length):
    keys = []
    state = torch.randn(1, 256)
    for _ in range(length):
        state = torch.tanh(model(state))
        keys.append(state.repeat(64, 1))
        time.sleep(0.004)
    prefixes.keep(name, keys)
    return torch.cat(keys).mean().item()


model = torch.nn.Linear(256, 256)
prefixes = Prefixes()
done = 0
with torch.inference_mode():
    while time.time() < END:
        generate(model, prefixes, "prompt %d" % done, min(600, int(random.lognormvariate(4.0, 0.8))))
        done += 1
        time.sleep(0.02)
print(done)
