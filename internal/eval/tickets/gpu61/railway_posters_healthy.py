"""Holiday photographs become railway posters of the thirties. A fixed network describes both, and the pixels of a
copy of the photograph are moved until the copy has the content of the photograph and the style of the poster. What
the copy should match sits behind the layers of the network, as in the tutorial.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

SIDE, STEPS = 128, 10


def network():
    """Random filters carry enough of a texture for posters."""
    layers = nn.Sequential(
        nn.Conv2d(3, 48, 3, padding=1), nn.ReLU(),
        nn.Conv2d(48, 64, 3, padding=1), nn.ReLU(),
        nn.AvgPool2d(2), nn.Conv2d(64, 96, 3, padding=1), nn.ReLU(),
    )
    for parameter in layers.parameters():
        parameter.requires_grad_(False)
    return layers.eval()


def gram(features):
    flat = features.flatten(2)
    return flat @ flat.transpose(1, 2) / flat.shape[2]


class Match:
    """A hook that compares what its layer puts out with what is wanted there."""

    def __init__(self, wanted, view=None, weight=1.0):
        self.wanted, self.view, self.weight = wanted, view, weight
        self.loss = None

    def __call__(self, layer, inputs, output):
        seen = output if self.view is None else self.view(output)
        self.loss = self.weight * F.mse_loss(seen, self.wanted)


class Studio:
    content_layer, style_layers = 3, (1, 6)

    def __init__(self, device):
        self.layers = network().to(device)

    def describe(self, picture, layer):
        with torch.no_grad():
            return self.layers[: layer + 1](picture)

    def matches(self, photo, poster):
        content = self.describe(photo, self.content_layer)
        matches = [(self.content_layer, Match(content))]
        for layer in self.style_layers:
            style = gram(self.describe(poster, layer))
            matches.append((layer, Match(style, view=gram, weight=50.0)))
        return matches

    def paint(self, photo, poster):
        matches = self.matches(photo, poster)
        hooks = [self.layers[layer].register_forward_hook(match) for layer, match in matches]
        copy = photo.clone().requires_grad_(True)
        brush = torch.optim.Adam([copy], lr=0.03)
        for _ in range(STEPS):
            brush.zero_grad()
            self.layers(copy)
            loss = sum(match.loss for _, match in matches)
            loss.backward()
            brush.step()
        for hook in hooks:
            hook.remove()
        return copy.detach().clamp(0, 1), loss.item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    studio, painted = Studio(device), 0
    posters = torch.rand(6, 1, 3, SIDE, SIDE, device=device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        photo = torch.rand(1, 3, SIDE, SIDE, device=device)
        picture, loss = studio.paint(photo, random.choice(posters))
        painted += 1
        if painted % 10 == 0:
            print(f"{painted} posters, the last off by {loss:.3f}, brightness {picture.mean().item():.2f}", flush=True)
        time.sleep(random.uniform(0.1, 0.25))


if __name__ == "__main__":
    main()
