"""A service for a clinic tells what a small network sees on skin photographs, and draws where it looked (Grad-CAM).
For each photograph an explainer hooks itself into the network's last layer, and is taken out when it has answered.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

KINDS = ("nevus", "melanoma", "keratosis", "angioma", "wart")


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 12, 5, stride=4, padding=2), nn.ReLU(),
                                      nn.Conv2d(12, 24, 3, stride=2, padding=1), nn.ReLU(),
                                      nn.Conv2d(24, 32, 3, stride=2, padding=1))
        self.head = nn.Linear(32, len(KINDS))

    def forward(self, image):
        return self.head(F.relu(self.features(image)).mean((2, 3)))


class Explainer:
    """Weighs the maps of a layer by how much they speak for a kind."""

    def __init__(self, model, layer, image):
        self.model, self.image = model, image
        self.maps = self.slopes = self.heat = None
        self.hooks = [layer.register_forward_hook(self.save_maps),
                      layer.register_full_backward_hook(self.save_slopes)]

    def close(self):
        for hook in self.hooks:
            hook.remove()

    def save_maps(self, layer, inputs, output):
        self.maps = output.detach()

    def save_slopes(self, layer, inward, outward):
        self.slopes = outward[0].detach()

    def explain(self):
        scores = self.model(self.image[None])
        kind = int(scores.argmax())
        self.model.zero_grad(set_to_none=True)
        scores[0, kind].backward()
        weights = self.slopes.mean((2, 3), keepdim=True)
        rough = F.relu((weights * self.maps).sum(1, keepdim=True))
        rough = F.interpolate(rough, size=self.image.shape[1:], mode="bilinear", align_corners=False)
        self.heat = rough[0, 0] / (rough.max() + 1e-6)
        return kind, torch.softmax(scores.detach(), 1)[0, kind].item()


def photograph():
    """Skin, with a dark spot somewhere on it."""
    side = random.choice((192, 224, 256, 288))
    rows, columns = torch.meshgrid(torch.linspace(-1, 1, side), torch.linspace(-1, 1, side), indexing="ij")
    y, x, size = random.uniform(-0.5, 0.5), random.uniform(-0.5, 0.5), random.uniform(0.1, 0.4)
    spot = torch.exp(-((rows - y) ** 2 + (columns - x) ** 2) / size ** 2)
    tone = torch.tensor([0.85, 0.65, 0.55])[:, None, None]
    return (tone * (1 - 0.7 * spot) + 0.04 * torch.randn(3, side, side)).clamp(0, 1)


def overlay(image, heat):
    """The photograph with the heat in red, small, for the screen."""
    shown = image * (1 - 0.5 * heat) + 0.5 * heat * torch.tensor([1.0, 0.0, 0.0])[:, None, None]
    return (F.interpolate(shown[None], size=(96, 96), mode="area")[0] * 255).byte().numpy().tobytes()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(9)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    model = Classifier().eval()
    found, sent = dict.fromkeys(KINDS, 0), 0
    while time.time() < end:
        for _ in range(random.choice((1, 1, 2, 3))):
            explainer = Explainer(model, model.features[-1], photograph())
            try:
                kind, sure = explainer.explain()
            finally:
                explainer.close()
            sent += len(overlay(explainer.image, explainer.heat))
            found[KINDS[kind]] += 1
            if sum(found.values()) % 25 == 0:
                print(found, "sure", round(sure, 2), "sent", sent >> 10, "KiB", flush=True)
        time.sleep(random.uniform(0.15, 0.5))


if __name__ == "__main__":
    main()
