"""A hook saves the activations of each layer for the backward pass, and not in evaluation.

ticket: meta-pytorch/opacus#176
class: none
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
        if layer.training:
            layer.activations.append(inputs[0].detach())


net = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
engine = PerSample(net)
net.eval()
with torch.no_grad():
    while time.time() < END:
        scores = net(torch.randn(96, 128)).argmax(1)
        time.sleep(0.03)
