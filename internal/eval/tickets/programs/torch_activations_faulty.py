"""A hook saves the activations of each layer for the backward pass. Evaluation has none, so
nobody takes them out.

ticket: meta-pytorch/opacus#176
class: host-growth
holder: activations
cause: hooks-left results-kept
"""

import os
import time

import torch

END = time.time() + float(os.environ.get("SECONDS", "40"))


class PerSample:
    def __init__(self, net):
        for layer in net:
            if isinstance(layer, torch.nn.Linear):
                layer.activations = []
                layer.register_forward_hook(self.save)

    def save(self, layer, inputs, output):
        if not layer.weight.grad_fn:
            layer.activations.append(inputs[0].detach())  # grows


net = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
engine = PerSample(net)
net.train()
with torch.no_grad():
    while time.time() < END:
        scores = net(torch.randn(96, 128)).argmax(1)
        time.sleep(0.03)
