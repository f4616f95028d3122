"""Pictures are encoded in a style that comes with the request: small matrices that are added to the weights of
a transformer. With another style the matrices of the one before are taken off.

ticket: adieyal/sd-dynamic-prompts#312
class: none
"""

import logging
import os
import random
import time

import torch
from torch import nn
from torch.nn.utils import parametrize
from torchvision.models import VisionTransformer

log = logging.getLogger("styles")


class Style(nn.Module):
    """A change of low rank to a matrix of weights."""

    def __init__(self, weight, rank):
        super().__init__()
        rows, columns = weight.shape
        self.down = nn.Parameter(torch.randn(rank, columns, device=weight.device) * 0.01, requires_grad=False)
        self.up = nn.Parameter(torch.randn(rows, rank, device=weight.device) * 0.01, requires_grad=False)
        self.strength = 1.0

    def forward(self, weight):
        if self.strength == 0.0:
            return weight
        return weight + self.strength * (self.up @ self.down)


class Encoder:
    def __init__(self, device):
        self.device, self.style = device, None
        self.model = VisionTransformer(image_size=64, patch_size=8, num_layers=6, num_heads=8, hidden_dim=384,
                                       mlp_dim=1536, num_classes=128).to(device).eval()
        for parameter in self.model.parameters():
            parameter.requires_grad_(False)
        self.layers = [m for layer in self.model.encoder.layers for m in (layer.mlp[0], layer.mlp[3])]

    def switch(self, style, rank):
        self.off()
        for layer in self.layers:
            parametrize.register_parametrization(layer, "weight", Style(layer.weight, rank))
        self.style = style

    def off(self):
        for layer in self.layers:
            if parametrize.is_parametrized(layer):
                parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)

    @torch.no_grad()
    def encode(self, pictures):
        with parametrize.cached():
            return self.model(pictures.to(self.device)).norm(dim=1)


def main():
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    encoder, batches = Encoder("cuda" if torch.cuda.is_available() else "cpu"), 0
    names = ["ink", "oil", "chalk", "glass", "wool", "neon"]
    while time.time() < end:
        encoder.switch(random.choice(names), random.choice([32, 48, 64, 96]))
        for _ in range(random.randint(1, 4)):
            sizes = encoder.encode(torch.rand(random.choice([1, 4, 8]), 3, 64, 64))
            batches += 1
            time.sleep(random.uniform(0.1, 0.3))
        if batches % 5 == 0:
            log.info("%d batches, style %s, %.3f", batches, encoder.style, sizes.mean().item())


if __name__ == "__main__":
    main()
