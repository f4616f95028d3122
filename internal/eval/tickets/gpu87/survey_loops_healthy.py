"""Fits the survey stations of a cave to the scan of its walls.

The entrance series of the cave has been scanned with a laser, thinned to some thousand wall points. Survey trips
bring home new stations, measured with tape and compass, which are off by a metre here and there. After each trip the
stations are drawn, in small steps, towards the nearest wall points as long as these are near enough, and their
neighbours along the traverse go with them; then the next trip's stations are added. Between trips, the fit of all
the stations goes on.

ticket: practice
class: none
"""
import os
import time

import torch
import torch.nn.functional as F

WALL_POINTS = 4096
FIRST_STATIONS = 1536
STATIONS_A_TRIP = 144
STEPS_A_TRIP = 8
STEP_SECONDS = 0.2
REACH = 4.0
SLAB = 1024


def scan_walls(device):
    """A winding passage, with the points on its walls."""
    along = torch.linspace(0.0, 60.0, WALL_POINTS, device=device)
    around = torch.rand(WALL_POINTS, device=device) * 2 * torch.pi
    centre = passage(along)
    radius = 1.5 + 0.5 * torch.sin(along * 0.7)
    ring = torch.stack([torch.zeros_like(around), torch.cos(around), torch.sin(around)], dim=1)
    return centre + radius[:, None] * ring


def passage(along):
    return torch.stack([along * 2.0, 8.0 * torch.sin(along * 0.3), -0.5 * along], dim=1)


class Traverse:
    """The stations in the order in which they were measured."""

    def __init__(self, walls, device):
        self.walls = walls
        self.device = device
        self.stations = self.measure(FIRST_STATIONS)
        self.trips = 1

    def measure(self, count):
        along = torch.rand(count, device=self.device).sort().values * 60.0
        return passage(along) + 1.2 * torch.randn(count, 3, device=self.device)

    def add_trip(self):
        self.stations = torch.cat([self.stations, self.measure(STATIONS_A_TRIP)])
        self.trips += 1

    def nearest_walls(self):
        """Distance to the nearest wall point, and which one, for every station."""
        count = len(self.stations)
        gaps, partners = [], []
        for start in range(0, count, SLAB):
            slab = self.stations[start:start + SLAB]
            slab = F.pad(slab, (0, 0, 0, SLAB - len(slab)))
            distances = torch.cdist(slab, self.walls, compute_mode="donot_use_mm_for_euclid_dist")
            nearest = distances.min(dim=1)
            gaps.append(nearest.values)
            partners.append(nearest.indices)
        return torch.cat(gaps)[:count], torch.cat(partners)[:count]

    def draw(self, rate=0.08):
        gaps, partners = self.nearest_walls()
        pull = self.walls[partners] - self.stations
        pull[gaps > REACH] = 0.0
        smooth = pull.clone()
        smooth[1:-1] = 0.25 * pull[:-2] + 0.5 * pull[1:-1] + 0.25 * pull[2:]
        self.stations += rate * smooth
        return gaps


def report(traverse, gaps, step):
    near = (gaps < 0.5).float().mean().item()
    print(f"step {step}: trip {traverse.trips}, {len(traverse.stations)} stations, "
          f"mean gap {gaps.mean().item():.3f} m, {100 * near:.0f} in a hundred at the wall", flush=True)


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(11)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    walls = scan_walls(device)
    traverse = Traverse(walls, device)
    print(f"{WALL_POINTS} wall points, {FIRST_STATIONS} stations, on {device}", flush=True)

    step = 0
    due = time.time()
    with torch.no_grad():
        while time.time() < deadline:
            gaps = traverse.draw()
            step += 1
            if step % STEPS_A_TRIP == 0:
                traverse.add_trip()
            if step % 20 == 0:
                report(traverse, gaps, step)
            due += STEP_SECONDS
            pause = due - time.time()
            if pause > 0:
                time.sleep(pause)
            else:
                due = time.time()
    print(f"{traverse.trips} trips drawn in", flush=True)


if __name__ == "__main__":
    main()
