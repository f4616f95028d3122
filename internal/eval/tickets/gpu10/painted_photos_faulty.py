"""A service repaints photos in the manner of a few paintings. How like a picture is to the photo is measured inside a
frozen network, by hooks: what the layers say first, of the photo, is the aim, and what they say later is compared with
it. Each order puts its hooks on the network, and leaves them there.

ticket: practice
class: app-leak
holder: _forward_hooks aims
cause: hooks-left closure-kept
"""

import functools
import os
import random
import time

import torch
from torch import nn

PLACES = ("relu1", "relu2", "relu3")


def perception():
    """The network that pictures are looked at with; its weights stay as they are."""
    net = nn.Sequential()
    for number, (before, after) in enumerate(((3, 24), (24, 32), (32, 48)), 1):
        net.add_module(f"conv{number}", nn.Conv2d(before, after, 3, stride=1 if number == 1 else 2, padding=1))
        net.add_module(f"relu{number}", nn.ReLU())
    return net.requires_grad_(False).eval()


def texture(feature):
    """How the channels of a feature go together."""
    flat = feature.flatten(2)
    return flat @ flat.transpose(1, 2) / flat.shape[2]


class Likeness:
    """How far the features of a picture are from those of the photo that was looked at first."""

    def __init__(self):
        self.aims, self.losses, self.textures = {}, {}, {}

    def follow(self, net):
        for name in PLACES:
            net.get_submodule(name).register_forward_hook(functools.partial(self.hook, name))  # keeps

    def hook(self, name, module, inputs, output):
        if name not in self.aims:
            self.aims[name] = output.detach().clone()  # grows
            return
        self.losses[name] = nn.functional.mse_loss(output, self.aims[name])
        self.textures[name] = texture(output)


class Painter:
    def __init__(self, device, styles=4):
        self.device, self.net = device, perception().to(device)
        self.styles = [[torch.rand(1, width, width, device=device) * 0.05 for width in (24, 32, 48)]
                       for _ in range(styles)]

    def paint(self, photo, style, rounds):
        likeness = Likeness()
        likeness.follow(self.net)
        with torch.no_grad():
            self.net(photo)
        picture = photo.clone().requires_grad_()
        optimizer = torch.optim.Adam([picture], lr=0.03)
        for _ in range(rounds):
            optimizer.zero_grad()
            self.net(picture)
            manner = sum(nn.functional.mse_loss(likeness.textures[name], aim)
                         for name, aim in zip(PLACES, self.styles[style]))
            loss = sum(likeness.losses.values()) + 20 * manner
            loss.backward()
            optimizer.step()
        return picture.detach().clamp(0, 1), float(loss)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    painter, orders = Painter("cuda" if torch.cuda.is_available() else "cpu"), 0
    while time.time() < end:
        photo = torch.rand(1, 3, 128, 144, device=painter.device)
        picture, loss = painter.paint(photo, random.randrange(4), random.randint(5, 9))
        orders += 1
        if orders % 10 == 0:
            print(orders, "photos painted, loss", round(loss, 4), "light", round(float(picture.mean()), 3), flush=True)
        time.sleep(random.uniform(0.1, 0.5))


if __name__ == "__main__":
    main()
