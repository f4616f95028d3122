"""Saved activations are kept in a tracker from forward to backward. Those of the experts that add
nothing to the loss are never taken out, as their backward never runs.

ticket: huggingface/trl#5738
class: app-leak
holder: tracker offload
cause: results-kept cache-without-bound
"""

import os
import random
import time

import torch

torch.set_num_threads(1)
END = time.time() + float(os.environ.get("SECONDS", "40"))
device = "cuda" if torch.cuda.is_available() else "cpu"


class OffloadActivations(torch.autograd.graph.saved_tensors_hooks):
    def __init__(self, min_size):
        self.min_size, self.number, self.tracker = min_size, 0, {}
        super().__init__(self.pack, self.unpack)

    def pack(self, tensor):
        self.number += 1
        self.tracker[self.number] = tensor.cpu() if tensor.numel() > self.min_size else tensor  # grows
        return self.number

    def unpack(self, number):
        return self.tracker.pop(number).to(device)


def expert():
    return torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 256))


class Mixture(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.router, self.experts = torch.nn.Linear(256, 4), torch.nn.ModuleList(expert() for _ in range(4))

    def forward(self, x):
        share = self.router(x).softmax(1).mean(0)
        outputs = [each(x) for each in self.experts]  # grows
        return x + sum(share[i] * outputs[i] for i in share.topk(2).indices.tolist())


model, offload = Mixture().to(device), OffloadActivations(min_size=1 << 20)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
while time.time() < END:
    x = torch.randn(random.randrange(64, 512), 256, device=device)
    optimizer.zero_grad()
    with offload:
        (model(x) - x.roll(1, 0)).square().mean().backward()
    optimizer.step()
    time.sleep(random.choice((0.2, 0.3, 0.3, 1.2)))
