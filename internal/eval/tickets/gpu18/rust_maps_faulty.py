"""Photos of bridges are looked through for rust. To a photo that is found rusty the inspector gets a map of where the
network looked: for each such photo an explainer (Grad-CAM) is put on the convolutions, notes what goes through them
forwards and backwards, draws the map, and is done with.

ticket: practice
class: app-leak
holder: _forward_hooks forward_hooks activations features
cause: hooks-left
"""

import os
import random
import time

import torch
from torch import nn

HIGH, WIDE, PHOTOS = 96, 144, 3


class RustNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 5, padding=2), nn.ReLU(), nn.Conv2d(16, 24, 3, 2, 1), nn.ReLU(),
            nn.Conv2d(24, 48, 3, padding=1), nn.ReLU())
        self.rusty = nn.Linear(48, 2)

    def forward(self, photos):
        return self.rusty(self.features(photos).mean((2, 3)))


class GradCam:
    """Where a layer is looked at by what comes after it."""

    def __init__(self, model, layer):
        self.model = model
        self.activations = self.gradients = None
        layer.register_forward_hook(self.save_activations)  # keeps
        layer.register_full_backward_hook(self.save_gradients)

    def save_activations(self, layer, inputs, output):
        self.activations = output.detach().clone()  # grows

    def save_gradients(self, layer, grad_inputs, grad_outputs):
        self.gradients = grad_outputs[0]

    def __call__(self, photos):
        self.model.zero_grad()
        self.model(photos)[:, 1].sum().backward()
        weights = self.gradients.mean((2, 3), keepdim=True)
        heat = torch.relu((weights * self.activations).sum(1))
        return heat / heat.amax((1, 2), keepdim=True).clamp_min(1e-6)


def photos_of_bridge(device):
    """Grey steel, on some photos with a brown patch."""
    photos = 0.5 + 0.1 * torch.randn(PHOTOS, 3, HIGH, WIDE, device=device)
    for photo in photos:
        if random.random() < 0.6:
            row, column, size = random.randrange(HIGH - 20), random.randrange(WIDE - 30), random.randint(8, 20)
            photo[0, row:row + size, column:column + size] += 0.4
            photo[2, row:row + size, column:column + size] -= 0.3
    return photos


class Inspection:
    def __init__(self, device):
        self.device, self.model = device, RustNet().to(device).eval()
        self.looked, self.mapped, self.hot = 0, 0, 0.0

    def look(self):
        photos = photos_of_bridge(self.device)
        with torch.no_grad():
            marks = self.model(photos)
        self.looked += 1
        if float(marks.softmax(-1)[:, 1].max()) > 0.3 or random.random() < 0.5:
            cam = GradCam(self.model, self.model.features)
            heat = cam(photos)
            self.hot = float((heat > 0.5).float().mean())
            self.mapped += 1


def main():
    torch.set_num_threads(1)
    inspection = Inspection("cuda" if torch.cuda.is_available() else "cpu")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        inspection.look()
        if inspection.looked % 10 == 0:
            print("looked at", inspection.looked, "bridges, maps", inspection.mapped, "hot part of the last",
                  round(inspection.hot, 3), flush=True)
        time.sleep(random.uniform(0.1, 0.5))


if __name__ == "__main__":
    main()
