"""The coma of a comet is drawn from a night of exposures. All exposures share one image of the coma, which follows the
comet, and each has a sky of its own with clouds and moonlight, which is fitted together with it. When an exposure is
done, its sky is not needed any more, and the coma goes on to the next.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

FRAME, STAMP, ROUNDS = 640, 96, 8


def telescope(device):
    """The next exposure: a comet on a moonlit sky, and where the comet is."""
    row, column = (random.randrange(FRAME - STAMP) for _ in range(2))
    coarse = torch.rand(1, 1, 6, 6, device=device)
    frame = F.interpolate(coarse, size=(FRAME, FRAME), mode="bicubic", align_corners=True)[0, 0]
    axis = torch.arange(STAMP, device=device) - STAMP / 2
    distance = (axis[:, None] ** 2 + axis[None] ** 2 + 4).sqrt()
    frame[row:row + STAMP, column:column + STAMP] += 30 / distance
    return frame + 0.02 * torch.randn_like(frame), row, column


class Night:
    def __init__(self, device):
        self.coma = nn.Parameter(torch.zeros(STAMP, STAMP, device=device))
        self.optimizer = torch.optim.Adam([self.coma], lr=0.1)
        self.exposures = 0

    def model(self, sky, row, column):
        pad = column, FRAME - STAMP - column, row, FRAME - STAMP - row
        return sky + F.pad(self.coma, pad)

    def fit(self, frame, row, column):
        """Fits the sky of this exposure, and the coma a little more."""
        sky = nn.Parameter(torch.full_like(frame, frame.median().item()))
        self.optimizer.add_param_group({"params": [sky], "lr": 0.05})
        for _ in range(ROUNDS):
            self.optimizer.zero_grad(set_to_none=True)
            rough = (sky[1:] - sky[:-1]).abs().mean() + (sky[:, 1:] - sky[:, :-1]).abs().mean()
            loss = (self.model(sky, row, column) - frame).square().mean() + 0.05 * rough
            loss.backward()
            self.optimizer.step()
        self.optimizer.param_groups.pop()
        del self.optimizer.state[sky]
        self.exposures += 1
        return loss.item()

    @torch.no_grad()
    def brightness(self):
        middle = STAMP // 2
        return self.coma[middle - 3:middle + 3, middle - 3:middle + 3].mean().item(), self.coma.mean().item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(7)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    night = Night(device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for _ in range(3):
            loss = night.fit(*telescope(device))
        nucleus, mean = night.brightness()
        print(f"{night.exposures} exposures: loss {loss:.4f}, nucleus {nucleus:.2f}, coma {mean:.3f}", flush=True)
        time.sleep(random.uniform(0.5, 0.9))


if __name__ == "__main__":
    main()
