"""Evening check of the navigation aid of a desert rally team, held at the bivouac.

The aid is a small network that turns features of the roadbook into a heading. Each check takes a fresh grid
of terrain heights, runs the waypoints of the stage through the network and has a probe look at what the
layers make of them, so that headings that point up the steep side of a dune show before the crew starts.
The worst stages are put to the crew for training.

ticket: practice
class: none
"""
import math
import os
import time

import torch
from torch import nn

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 5
GRID = 512
WAYPOINTS = 256
CLUES = 48
STEEP = 0.35


class RoadbookNavigator(nn.Module):
    """Turns the clues of a waypoint into a unit vector of heading."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(CLUES, 192)
        self.mixer = nn.Linear(192, 192)
        self.compass = nn.Linear(192, 2)

    def forward(self, clues):
        hidden = torch.relu(self.encoder(clues))
        hidden = torch.relu(self.mixer(hidden))
        return nn.functional.normalize(self.compass(hidden), dim=1)


class Desert:
    """Random dune fields and waypoints in them."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.axis = torch.linspace(0.0, 2.0 * math.pi, GRID, device=DEVICE)

    def heights(self):
        waves = torch.rand(4, generator=self.generator, device=DEVICE) * 7.0 + 2.0
        ridges = torch.sin(waves[0] * self.axis) + 0.5 * torch.sin(waves[1] * self.axis)
        hollows = torch.cos(waves[2] * self.axis) + 0.5 * torch.cos(waves[3] * self.axis)
        return torch.outer(ridges, hollows)

    def waypoints(self):
        spots = torch.randint(1, GRID - 1, (WAYPOINTS, 2), generator=self.generator, device=DEVICE)
        clues = torch.randn(WAYPOINTS, CLUES, generator=self.generator, device=DEVICE)
        return spots, clues


class StageProbe:
    """Looks at the layers of the navigator while the waypoints of one stage go through."""

    def __init__(self, heights, spots):
        self.heights = heights
        self.spots = spots
        self.handles = []
        self.finished = False
        self.activity = 0.0
        self.steep_share = 0.0

    def attach(self, navigator):
        for layer, look in ((navigator.encoder, self.see_encoding), (navigator.compass, self.see_heading)):
            self.handles.append(layer.register_forward_hook(look))

    def detach(self):
        self.finished = True
        for handle in self.handles:
            handle.remove()

    def see_encoding(self, layer, args, output):
        if not self.finished:
            self.activity = float((output > 0).float().mean())

    def see_heading(self, layer, args, output):
        if self.finished:
            return
        rows, columns = self.spots[:, 0], self.spots[:, 1]
        north = self.heights[rows + 1, columns] - self.heights[rows - 1, columns]
        east = self.heights[rows, columns + 1] - self.heights[rows, columns - 1]
        climb = (output[:, 0] * north + output[:, 1] * east) / output.norm(dim=1).clamp_min(1e-6)
        self.steep_share = float((climb * GRID / 40.0 > STEEP).float().mean())


@torch.no_grad()
def check_stage(navigator, desert):
    spots, clues = desert.waypoints()
    probe = StageProbe(desert.heights(), spots)
    probe.attach(navigator)
    navigator(clues)
    probe.detach()
    return probe.steep_share, probe.activity


def main():
    torch.set_num_threads(1)
    torch.manual_seed(8)
    navigator = RoadbookNavigator().to(DEVICE).eval()
    desert = Desert(seed=77)
    started = time.monotonic()
    stages = 0
    worst = 0.0
    for_training = 0
    while time.monotonic() - started < SECONDS:
        steep_share, activity = check_stage(navigator, desert)
        stages += 1
        worst = max(worst, steep_share)
        for_training += steep_share > 0.3
        if stages % (3 * ROUNDS_PER_SECOND) == 0:
            print(f"stage {stages:4d}  steep {steep_share:.1%}  worst {worst:.1%}  active units {activity:.1%}  "
                  f"for training {for_training}", flush=True)
        due = started + stages / ROUNDS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"check ended: {stages} stages, {for_training} put to the crew", flush=True)


if __name__ == "__main__":
    main()
