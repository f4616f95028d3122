"""The scheduler of a speech server announces the encoder output of a clip as free one step after it was
made and used, so the cache of the runner holds one step's clips.

ticket: vllm-project/vllm#32789
class: none
"""

import os
import random
import time

import torch

torch.set_num_threads(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
END = time.time() + float(os.environ.get("SECONDS", "40"))


class Scheduler:
    def __init__(self):
        self.waiting, self.freed = [], []

    def schedule(self):
        batch, self.waiting = self.waiting[:4], self.waiting[4:]
        freed, self.freed = self.freed, list(batch)
        return batch, freed


class Runner:
    def __init__(self):
        self.encoder = torch.nn.Sequential(torch.nn.Linear(80, 512), torch.nn.GELU(), torch.nn.Linear(512, 512))
        self.encoder.to(device)
        self.head = torch.nn.Linear(512, 1000).to(device)
        self.encoder_cache = {}

    @torch.no_grad()
    def execute(self, batch, freed):
        for key, frames in freed:
            self.encoder_cache.pop(key, None)
        for key, frames in batch:
            self.encoder_cache[key] = self.encoder(torch.randn(frames, 80, device=device))
        return [self.head(self.encoder_cache[key][-1]).argmax().item() for key, frames in batch]


scheduler, runner = Scheduler(), Runner()
clip = 0
while time.time() < END:
    for _ in range(random.choice([0, 0, 1, 1, 2, 5])):
        clip += 1
        scheduler.waiting.append(("clip-%d" % clip, random.randint(200, 1500)))
    runner.execute(*scheduler.schedule())
    time.sleep(random.uniform(0.2, 0.6))
