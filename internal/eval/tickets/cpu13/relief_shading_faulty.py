"""Learned hill shading for topographic sheets.

A small network is taught to shade terrain as a cartographer would: it sees a tile of elevations and gives back the
tones of a manually shaded sheet, imitated here by a sum of lights with local adaptation. After every few steps it is
proofed on tiles of another district, and the final plate is drawn with the mean of the best proofed weights.

ticket: practice
class: host-growth
holder: _proofs
cause: snapshots-kept
"""
import os
import time

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 8
STEPS_PER_PROOF = 4
TILE = 20
BATCH = 4


class Terrain:
    """Random hills as a sum of smooth noise at several scales."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)

    def tiles(self, count):
        height = torch.zeros(count, 1, TILE, TILE)
        for scale, weight in ((4, 1.0), (8, 0.5), (16, 0.2)):
            coarse = torch.randn(count, 1, scale, scale, generator=self.generator)
            height += weight * F.interpolate(coarse, size=(TILE, TILE), mode="bicubic", align_corners=False)
        return height


def manual_shading(height):
    """Tones of a shaded sheet: two lights, the second one where the first is in shadow."""
    padded = F.pad(height, (1, 1, 1, 1), mode="replicate")
    east = (padded[:, :, 1:-1, 2:] - padded[:, :, 1:-1, :-2]) / 2.0
    south = (padded[:, :, 2:, 1:-1] - padded[:, :, :-2, 1:-1]) / 2.0
    norm = torch.sqrt(1.0 + east.square() + south.square())
    main_light = (0.7 + 0.5 * east + 0.5 * south) / norm
    side_light = (0.7 - 0.6 * east + 0.3 * south) / norm
    return torch.where(main_light > 0.3, main_light, 0.5 * main_light + 0.5 * side_light).clamp(0.0, 1.0)


class ShadingNet(nn.Module):
    def __init__(self, width=144):
        super().__init__()
        self.enter = nn.Conv2d(1, width, 3, padding=1)
        self.middle = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(2))
        self.leave = nn.Conv2d(width, 1, 1)

    def forward(self, height):
        features = F.relu(self.enter(height))
        for layer in self.middle:
            features = features + F.relu(layer(features))
        return torch.sigmoid(self.leave(features))


class Proofing:
    """Proofs the network on a fixed district and remembers the weights that came out best."""

    def __init__(self, district, best):
        self.district = district
        self.tones = manual_shading(district)
        self.best = best
        self.taken = 0
        self._proofs = []

    def take(self, network):
        with torch.no_grad():
            error = F.l1_loss(network(self.district), self.tones).item()
        weights = {name: value.clone() for name, value in network.state_dict().items()}  # grows
        self.taken += 1
        ranked = sorted([*self._proofs, (error, self.taken, weights)], key=lambda proof: proof[:2])
        self._proofs = ranked  # keeps
        return error

    def chosen(self):
        return self._proofs[:self.best]

    def mean_weights(self):
        picked = [weights for _, _, weights in self.chosen()]
        return {name: torch.stack([weights[name] for weights in picked]).mean(0) for name in picked[0]}


def main():
    torch.manual_seed(8)
    terrain = Terrain(seed=19)
    network = ShadingNet()
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-4)
    proofing = Proofing(Terrain(seed=20).tiles(2), best=4)
    started = time.monotonic()
    report_due = started + 2.0
    steps = 0
    error = float("nan")
    while time.monotonic() - started < SECONDS:
        round_start = time.monotonic()
        height = terrain.tiles(BATCH)
        loss = F.mse_loss(network(height), manual_shading(height))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps += 1
        if steps % STEPS_PER_PROOF == 0:
            error = proofing.take(network)
        if time.monotonic() >= report_due:
            print(f"step {steps}: loss {loss.item():.4f}, proof error {error:.4f}", flush=True)
            report_due += 2.0
        time.sleep(max(0.02, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - round_start)))
    if proofing.taken:
        network.load_state_dict(proofing.mean_weights())
    print(f"plate drawn after {steps} steps, {proofing.taken} proofs, last error {error:.4f}", flush=True)


if __name__ == "__main__":
    main()
