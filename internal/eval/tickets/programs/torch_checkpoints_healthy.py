"""Each checkpoint of an average of the model is deep-copied, and the last one is kept.

ticket: lucidrains/ema-pytorch#35
class: none
"""

import copy
import os
import time

import torch

END = time.time() + float(os.environ.get("SECONDS", "40"))


class Averages:
    def __init__(self, model):
        self.model = copy.deepcopy(model)
        self.checkpoints = []

    def update(self, model):
        for mine, its in zip(self.model.parameters(), model.parameters()):
            mine.data.lerp_(its.data, 0.1)

    def checkpoint(self):
        self.checkpoints = [copy.deepcopy(self.model).state_dict()]


model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.Linear(256, 256))
averages = Averages(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step = 0
while time.time() < END:
    step += 1
    optimizer.zero_grad()
    model(torch.randn(16, 256)).square().mean().backward()
    optimizer.step()
    averages.update(model)
    if step % 5 == 0:
        averages.checkpoint()
    time.sleep(0.02)
