"""A network learns to tell how fast the ice of a glacier flows from its thickness and the slope of its bed, so that it
can take the place of a slow solver. Whether what it says keeps the ice together (as much flows in as out) is not part
of the loss; it is only watched, as a running average next to that of the loss.

ticket: alexhernandezgarcia/gflownet#133
class: app-leak
holder: averages smooth
cause: uncut-autograd-graph
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

SIDE, GLACIERS, RATE = 128, 6, 0.3


class Emulator(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(2, width, 5, padding=2), nn.GELU(),
            nn.Conv2d(width, width, 5, padding=2), nn.GELU(),
            nn.Conv2d(width, 2, 3, padding=1))

    def forward(self, thickness, bed):
        return self.body(torch.cat([thickness, bed], 1))


def glaciers(device):
    """Thickness, bed and the speed that the solver has found for it."""
    rough = torch.randn(GLACIERS, 2, SIDE // 16, SIDE // 16, device=device)
    fields = F.interpolate(rough, size=(SIDE, SIDE), mode="bicubic", align_corners=False)
    thickness, bed = fields[:, :1].abs() + 0.1, fields[:, 1:]
    down = torch.roll(bed + thickness, 1, 2) - torch.roll(bed + thickness, -1, 2)
    across = torch.roll(bed + thickness, 1, 3) - torch.roll(bed + thickness, -1, 3)
    slope = torch.cat([down, across], 1)
    return thickness, bed, 4 * thickness.square() * slope


def imbalance(thickness, speed):
    """How much more ice leaves a place than comes to it."""
    flux = RATE * torch.tanh(thickness * speed) * speed.square().add(0.01).sqrt()  # grows
    out = torch.roll(flux[:, 0], -1, 1) - flux[:, 0] + torch.roll(flux[:, 1], -1, 2) - flux[:, 1]
    return out.square().mean()


class RunningAverage:
    """Smooth curves of what jumps up and down."""

    def __init__(self, keep=0.95):
        self.keep, self.averages = keep, {}

    def update(self, **values):
        for name, value in values.items():
            before = self.averages.get(name, value)
            self.averages[name] = self.keep * before + (1 - self.keep) * value  # keeps

    def __str__(self):
        return ", ".join("%s %.4f" % (name, value) for name, value in self.averages.items())


def main():
    torch.set_num_threads(1)
    torch.manual_seed(4)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Emulator().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    smooth, step = RunningAverage(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        thickness, bed, truth = glaciers(device)
        speed = model(thickness, bed)
        loss = F.smooth_l1_loss(speed, truth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        smooth.update(loss=loss.item(), imbalance=imbalance(thickness, speed))
        step += 1
        if step % 10 == 0:
            print("step", step, smooth, flush=True)
        time.sleep(random.choice((0.1, 0.2, 0.2, 0.4)))


if __name__ == "__main__":
    main()
