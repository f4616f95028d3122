"""A music generator applies adapters by hooks on its layers. Choosing another adapter forgets the handles
of the one before, whose hooks and weights stay on the layers.

ticket: ace-step/ACE-Step-1.5#705
class: app-leak
holder: _forward_hooks hooks
cause: hooks-left
"""

import os
import random
import time

import torch

torch.set_num_threads(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
END = time.time() + float(os.environ.get("SECONDS", "40"))


class Generator:
    def __init__(self):
        self.decoder = torch.nn.ModuleList(torch.nn.Linear(1024, 1024) for _ in range(6)).to(device)
        self.handles = []

    def load(self, name, rank):
        handles = []
        for layer in self.decoder:
            down = torch.randn(1024, rank, device=device) * 0.01  # grows
            up = torch.randn(rank, 1024, device=device) * 0.01  # grows

            def add(module, inputs, output, down=down, up=up):
                return output + inputs[0] @ down @ up

            handles.append(layer.register_forward_hook(add))  # grows
        self.handles = handles

    def unload(self):
        for handle in self.handles:
            handle.remove()
        self.handles = []

    @torch.no_grad()
    def generate(self, frames):
        song = torch.randn(frames, 1024, device=device)
        for layer in self.decoder:
            song = torch.tanh(layer(song))
        return song.mean().item()


generator = Generator()
number = 0
while time.time() < END:
    number += 1
    generator.load("adapter-%d" % number, rank=random.choice([64, 128, 192]))
    for _ in range(random.randint(1, 6)):
        generator.generate(random.randint(100, 900))
        time.sleep(random.uniform(0.1, 0.5))
    if number % 7 == 0:
        generator.unload()
