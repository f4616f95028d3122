"""Before each evaluation a hook that gathers what a layer gives is put on a model. It is never removed.

ticket: common practice: forward hooks registered again
class: host-growth
holder: _forward_hooks hooks gathered
cause: hooks-left results-kept
"""

import os
import random
import time

import torch
from torch import nn


class Probe:
    def __init__(self, layer):
        self.gathered = []
        self.handle = layer.register_forward_hook(self.gather)  # keeps

    def gather(self, module, inputs, output):
        self.gathered.append(output.detach().mean(0))  # grows


def evaluate(model, batches):
    probe = Probe(model[0])
    with torch.no_grad():
        for _ in range(batches):
            model(torch.randn(32, 256))
            time.sleep(0.005)
    return torch.stack(probe.gathered).std().item()


def main():
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(256, 2048), nn.ReLU(), nn.Linear(2048, 10))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    end, epoch = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        for _ in range(random.randint(5, 10)):
            optimizer.zero_grad()
            model(torch.randn(32, 256)).square().mean().backward()
            optimizer.step()
            time.sleep(0.005)
        spread = evaluate(model, random.randint(5, 10))
        epoch += 1
        if epoch % 20 == 0:
            print("epoch", epoch, spread, flush=True)


if __name__ == "__main__":
    main()
