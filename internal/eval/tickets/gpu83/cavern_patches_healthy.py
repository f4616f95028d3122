"""A robot maps a cavern as it crawls through it. The map is a row of patches, grids of learnt features, from which a
small decoder tells distances; new patches are learnt where the robot arrives. Only the patches around the robot are
kept, those behind it go to the archive of the survey and are dropped.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

FEATURES, SIDE, WINDOW = 16, 96, 6
RAYS, STEPS = 512, 5


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, features):
        return self.layers(features).squeeze(-1)


class CavernMap:
    def __init__(self, device):
        self.device = device
        self.decoder = Decoder().to(device)
        self.optimizer = torch.optim.Adam(self.decoder.parameters(), lr=1e-3)
        self.patches = {}
        self.archived = 0

    def arrive(self, place):
        """Makes a patch for a new place, and drops the one that lies far behind."""
        patch = nn.Parameter(0.01 * torch.randn(FEATURES, SIDE, SIDE, device=self.device))
        self.optimizer.add_param_group({"params": [patch], "lr": 1e-2})
        self.patches[place] = patch
        for old in [other for other in self.patches if other <= place - WINDOW]:
            self.archive(old, self.patches.pop(old))

    def archive(self, place, patch):
        """Only an outline of the patch goes to the archive; the optimizer forgets it too."""
        outline = F.avg_pool2d(patch.detach()[None], 16).mean().item()
        self.optimizer.state.pop(patch, None)
        groups = self.optimizer.param_groups
        groups[:] = [group for group in groups if group["params"][0] is not patch]
        self.archived += 1
        if self.archived % 20 == 0:
            print(f"place {place} archived, outline {outline:.4f}", flush=True)

    def distances(self, place, points):
        found = F.grid_sample(self.patches[place][None], points[None, None], align_corners=False)
        return self.decoder(found[0, :, 0].T)

    def learn(self, points, truth):
        """One step of learning for all patches that are kept."""
        loss = sum(F.l1_loss(self.distances(place, points), truth) for place in self.patches)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.item() / len(self.patches)


def scan(device):
    """The rays of the scanner: where they end and how far that is."""
    points = 2 * torch.rand(RAYS, 2, device=device) - 1
    return points, points.norm(dim=-1) + 0.02 * torch.randn(RAYS, device=device)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    cavern, place, loss = CavernMap(device), 0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        cavern.arrive(place)
        for _ in range(STEPS):
            loss = cavern.learn(*scan(device))
        place += 1
        if place % 30 == 0:
            print(f"{place} places, loss {loss:.3f}, {len(cavern.patches)} patches", flush=True)
        time.sleep(random.uniform(0.05, 0.2))


if __name__ == "__main__":
    main()
