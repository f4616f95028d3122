"""A service to which doctors send photos of moles. It says how likely each is to be a bad one, and because doctors want
to know why, paints a map of the places that spoke for it: the maps of the last layer, weighted with their slopes. For
each photo an explainer is made, which listens in at that layer for as long as the
network looks at it.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

SIDES = (384, 512)
KINDS = ("harmless", "watch", "bad")


class MoleNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 7, stride=4, padding=3), nn.ReLU(),
            nn.Conv2d(8, 16, 5, stride=2, padding=2), nn.ReLU(),
            nn.Conv2d(16, 24, 3, stride=2, padding=1))
        self.head = nn.Linear(24, len(KINDS))

    def forward(self, photo):
        return self.head(F.relu(self.body(photo)).mean((2, 3)))


class Explainer:
    """Which places of a photo speak for a kind."""

    def __init__(self, model, photo):
        self.model, self.photo, self.maps = model, photo, None
        self.hook = model.body[-1].register_forward_hook(self.listen)

    def listen(self, layer, inputs, output):
        self.maps = output

    def explain(self):
        try:
            says = self.model(self.photo)[0]
        finally:
            self.hook.remove()
        kind = int(says.argmax())
        slopes, = torch.autograd.grad(says[kind], self.maps)
        heat = F.relu((slopes.mean((2, 3), keepdim=True) * self.maps.detach()).sum(1, keepdim=True))
        heat = F.interpolate(heat, size=self.photo.shape[-2:], mode="bilinear", align_corners=False)
        shown = 0.5 * self.photo + 0.5 * heat / (heat.max() + 1e-6)
        return KINDS[kind], float(says.detach().softmax(0)[kind]), shown


class Service:
    def __init__(self, device):
        self.device, self.model = device, MoleNet().to(device).eval()

    def answer(self, photo):
        photo = photo.to(self.device).float() / 255
        kind, chance, shown = Explainer(self.model, photo[None]).explain()
        return kind, chance, (shown[0].clamp(0, 1) * 255).byte().cpu()


def sent_photo():
    """Skin, and a dark spot on it."""
    side = random.choice(SIDES)
    line = torch.linspace(-1, 1, side)
    apart = ((line - random.uniform(-0.4, 0.4)) ** 2)[:, None] + ((line - random.uniform(-0.4, 0.4)) ** 2)
    spot = torch.exp(-apart * random.uniform(4, 30))
    skin = torch.tensor([220.0, 180.0, 160.0])[:, None, None] * (1 - 0.7 * spot)
    return (skin + 12 * torch.randn(3, side, side)).clamp(0, 255).byte()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(4)
    service = Service("cuda" if torch.cuda.is_available() else "cpu")
    end, said, answered = time.time() + float(os.environ.get("SECONDS", "45")), time.time(), 0
    while time.time() < end:
        kind, chance, shown = service.answer(sent_photo())
        answered += 1
        if time.time() - said > 2:
            said = time.time()
            print(answered, "photos, last one:", kind, round(chance, 3), tuple(shown.shape), flush=True)
        time.sleep(random.uniform(0.1, 0.4))


if __name__ == "__main__":
    main()
