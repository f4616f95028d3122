"""Look for broken planks on the photos of scaffolds from building sites.

The inspectors send four photos of each bay. A network scores each photo, as it is and mirrored, and the mean of both
is the photo's score. A bay whose worst photo stays under the limit is passed; for the others the map of the layer
that sees texture is laid over the photo, so that the inspector knows where to look. The limit is set at the start on
bays from sites that have been taken down, such that about one bay in six is looked at by a person.

ticket: practice
class: none
"""
import os
import time

import torch
from torch import nn

PHOTOS = 4
SIDE = 224
BAYS_FOR_LIMIT = 30


class PlankNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 24, 5, stride=2, padding=2), nn.ReLU())
        self.texture = nn.Sequential(nn.Conv2d(24, 64, 3, stride=2, padding=1), nn.ReLU())
        self.shape = nn.Sequential(nn.Conv2d(64, 96, 3, stride=2, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.score = nn.Linear(96, 1)

    def forward(self, photos):
        hidden = self.shape(self.texture(self.stem(photos))).flatten(1)
        return torch.sigmoid(self.score(hidden))[:, 0]


class Sites:
    """Stands in for the inspectors: planks under changing light, some with a dark crack."""

    def __init__(self, device):
        self.device = device
        self.grain = torch.rand(1, 3, SIDE, SIDE, device=device)

    def bay(self):
        light = 0.3 + 0.7 * torch.rand(PHOTOS, 3, 1, 1, device=self.device)
        photos = light * self.grain + 0.1 * torch.randn(PHOTOS, 3, SIDE, SIDE, device=self.device)
        if torch.rand(1).item() < 0.2:
            row = int(torch.randint(20, SIDE - 30, (1,)))
            photos[0, :, row:row + 8, 30:180] = 0.0
        return photos


class Inspection:
    def __init__(self, device):
        self.net = PlankNet().to(device).eval()
        self.limit = 1.0
        self.passed = 0
        self.shown = 0

    def scores(self, photos):
        plain = self.net(photos)
        mirrored = self.net(photos.flip(-1))
        return 0.5 * (plain + mirrored)

    def set_limit(self, sites):
        worst = [self.scores(sites.bay()).max() for _ in range(BAYS_FOR_LIMIT)]
        self.limit = torch.stack(worst).quantile(0.83).item()

    def inspect(self, photos):
        """None for a bay that is passed, else the photo's number and the place to look at."""
        seen = {}

        def note(module, inputs, output):
            seen.setdefault("texture", output)

        handle = self.net.texture.register_forward_hook(note)
        try:
            scores = self.scores(photos)
        finally:
            handle.remove()
        worst = int(scores.argmax())
        if scores[worst].item() < self.limit:
            self.passed += 1
            return None
        self.shown += 1
        overlay = seen["texture"][worst].mean(dim=0)
        overlay = (overlay - overlay.min()) / (overlay.max() - overlay.min() + 1e-6)
        place = int(overlay.argmax())
        step = SIDE // overlay.shape[1]
        return worst, step * (place // overlay.shape[1]), step * (place % overlay.shape[1])


def main():
    until = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(14)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    sites = Sites(device)
    inspection = Inspection(device)
    place = None
    bays = 0
    with torch.no_grad():
        inspection.set_limit(sites)
        while time.time() < until:
            found = inspection.inspect(sites.bay())
            place = found or place
            bays += 1
            if bays % 25 == 0:
                print(f"bay {bays}: {inspection.passed} passed, {inspection.shown} shown to a person, "
                      f"last place {place}", flush=True)
            time.sleep(0.12)


if __name__ == "__main__":
    main()
