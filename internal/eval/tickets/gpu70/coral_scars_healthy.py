"""Four colonies of coral grow as patterns of Gray and Scott: one substance feeds, the other one eats. Now and then a
parrotfish bites. Where it has bitten, nothing grows for a while; then the scar closes. The bites are put on from
outside by a hook on the module that says how much grows, so that the coral itself knows nothing of fish.

ticket: practice
class: none
"""

import os
import random
import time
from collections import deque

import torch
from torch import nn
from torch.nn import functional as F

COLONIES, SIDE, HEALING = 4, 320, 30


class Growth(nn.Module):
    """How much of the feed is eaten at each place."""

    def forward(self, feed, coral):
        return feed * coral * coral


class Reef(nn.Module):
    def __init__(self, supply=0.055, death=0.062):
        super().__init__()
        self.supply, self.death = supply, death
        self.growth = Growth()
        stencil = torch.tensor([[0.05, 0.2, 0.05], [0.2, -1.0, 0.2], [0.05, 0.2, 0.05]])
        self.register_buffer("stencil", stencil.repeat(2, 1, 1, 1))

    def forward(self, state):
        spread = F.conv2d(F.pad(state, (1, 1, 1, 1), mode="circular"), self.stencil, groups=2)
        feed, coral = state[:, :1], state[:, 1:]
        eaten = self.growth(feed, coral)
        feed = feed + spread[:, :1] - eaten + self.supply * (1 - feed)
        coral = coral + 0.5 * spread[:, 1:] + eaten - (self.supply + self.death) * coral
        return torch.cat([feed, coral], dim=1)


class Fish:
    def __init__(self, reef, device):
        self.reef, self.device, self.now, self.bites = reef, device, 0, 0
        self.open = deque()

    def mouth(self):
        """One where the coral is whole, less around a place in each colony."""
        line = torch.arange(SIDE, device=self.device)
        places = torch.randint(SIDE, (2, COLONIES, 1, 1, 1), device=self.device)
        far = (line[:, None] - places[0]) ** 2 + (line - places[1]) ** 2
        return torch.sigmoid((far.float() - 400) / 40)

    def bite(self):
        shade, closed = self.mouth(), self.now + HEALING

        def hold_back(module, inputs, eaten):
            if self.now < closed:
                return eaten * shade

        self.open.append((closed, self.reef.growth.register_forward_hook(hold_back)))
        self.bites += 1

    def swim(self):
        self.now += 1
        while self.open and self.open[0][0] <= self.now:
            self.open.popleft()[1].remove()
        if random.random() < 0.5:
            self.bite()


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    reef = Reef().to(device)
    fish = Fish(reef, device)
    state = torch.zeros(COLONIES, 2, SIDE, SIDE, device=device)
    state[:, 0] = 1
    seeds = (torch.rand(COLONIES, 1, SIDE // 16, SIDE // 16, device=device) > 0.8).float()
    state[:, 1:] = F.interpolate(seeds, scale_factor=16)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        fish.swim()
        for _ in range(2):
            state = reef(state)
        if fish.now % 20 == 0:
            cover = (state[:, 1] > 0.2).float().mean().item()
            print(f"day {fish.now}: {fish.bites} bites, coral covers {cover:.3f}", flush=True)
        time.sleep(0.05)


if __name__ == "__main__":
    main()
