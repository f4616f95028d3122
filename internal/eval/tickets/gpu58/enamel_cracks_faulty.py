"""Where on a tooth does the classifier see a crack? For each set of X-rays, the last feature map is weighed with its
gradient, and the map of a blank exposure of the same brightness is taken off it. The dentist gets the box of the
hottest spot on each picture.

ticket: practice
class: app-leak
holder: hooks _forward_hooks _backward_hooks Explanation blank
cause: hooks-left
"""

import os
import random
import time

import torch
from torch import nn

VIEWS, SIDE, CHANNELS = 3, 96, 96
KINDS = "sound", "hairline", "split", "worn"


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 32, 5, stride=2, padding=2), nn.ReLU(),
            nn.Conv2d(32, CHANNELS, 3, padding=1), nn.ReLU(),
        )
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(16 * CHANNELS, len(KINDS)))

    def forward(self, pictures):
        return self.head(self.features(pictures))


class Explanation:
    """Why the classifier says what it says of one set of pictures."""

    def __init__(self, model, pictures):
        self.model, self.pictures = model, pictures
        self.activation = self.weights = None
        brightness = pictures.mean(dim=(1, 2, 3), keepdim=True)
        with torch.no_grad():
            self.blank = model.features(brightness.expand_as(pictures))  # grows
        model.features.register_forward_hook(self.see_activation)  # keeps
        model.features.register_full_backward_hook(self.see_gradient)  # keeps

    def see_activation(self, module, inputs, output):
        self.activation = output.detach()

    def see_gradient(self, module, grad_inputs, grad_outputs):
        self.weights = grad_outputs[0].mean(dim=(2, 3), keepdim=True)

    def heat(self):
        """A map for each picture, and the kinds found."""
        scores = self.model(self.pictures)
        best, kinds = scores.max(dim=1)
        self.model.zero_grad()
        best.sum().backward()
        difference = self.activation - self.blank
        return (self.weights * difference).sum(dim=1).relu(), kinds.tolist()


def hottest(heat):
    """The row and the column of the hottest spot of each map."""
    places = heat.flatten(1).argmax(dim=1).tolist()
    return [divmod(place, heat.shape[2]) for place in places]


def x_rays(device):
    """A few views of one tooth, with a dark line where it is cracked."""
    pictures = 0.6 + 0.1 * torch.randn(VIEWS, 1, SIDE, SIDE)
    if random.random() < 0.6:
        column = random.randrange(SIDE)
        pictures[:, :, SIDE // 4:, column] -= 0.5
    return (pictures * random.uniform(0.7, 1.3)).to(device)  # grows


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, teeth = Classifier().to(device).eval(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        explanation = Explanation(model, x_rays(device))
        heat, kinds = explanation.heat()
        teeth += 1
        if teeth % 20 == 0:
            found = ", ".join(f"{KINDS[kind]} at {spot}" for kind, spot in zip(kinds, hottest(heat)))
            print(f"tooth {teeth}: {found}", flush=True)
        time.sleep(random.uniform(0.1, 0.25))


if __name__ == "__main__":
    main()
