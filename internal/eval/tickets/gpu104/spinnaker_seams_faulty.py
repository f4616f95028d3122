"""A sail loft cuts spinnakers from radial panels whose broad seams give the sail its depth. A network learns the
seam offsets from the wanted flying shape, and the loft cuts with the mean of the best few revisions of it, since a
single revision tends to follow the last sails sewn. Sails are drawn at random with a known answer.

ticket: practice
class: app-leak
holder: _weights
cause: snapshots-kept
"""
import os
import time

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
PANELS = 24
STATIONS = 16
SHAPE_TERMS = 40
REVISIONS = 4
STEPS_PER_REVISION = 3
STEP_PAUSE = 0.1


class SeamNet(nn.Module):
    """Flying shape to the offsets of each seam at its stations."""

    def __init__(self, width=448):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(SHAPE_TERMS, width), nn.GELU(),
            nn.Linear(width, width), nn.GELU(),
            nn.Linear(width, width), nn.GELU(),
        )
        self.offsets = nn.Linear(width, PANELS * STATIONS)

    def forward(self, shape):
        return self.offsets(self.body(shape)).view(-1, PANELS, STATIONS)


class SailLibrary:
    """Draws sails: a shape of spline terms and the seams a master cutter would give it."""

    def __init__(self, seed):
        self._dice = torch.Generator().manual_seed(seed)
        self.rule = torch.randn(SHAPE_TERMS, PANELS * STATIONS, generator=self._dice) / SHAPE_TERMS ** 0.5
        self.camber = torch.linspace(0.0, torch.pi, STATIONS).sin().repeat(PANELS)

    def draw(self, count):
        shape = torch.randn(count, SHAPE_TERMS, generator=self._dice)
        seams = torch.tanh(shape @ self.rule) * self.camber
        return shape.to(DEVICE), seams.view(count, PANELS, STATIONS).to(DEVICE)


class RevisionShelf:
    """The best revisions of a network, ranked by their error on the trial sails."""

    def __init__(self, depth):
        self.depth = depth
        self._errors = {}
        self._weights = {}

    def __len__(self):
        return len(self._errors)

    def offer(self, revision, error, net):
        self._errors[revision] = error
        self._weights[revision] = {key: part.detach().clone() for key, part in net.state_dict().items()}  # grows keeps
        while len(self._errors) > self.depth:
            worst = max(self._errors, key=self._errors.get)
            del self._errors[worst]

    def best(self):
        return min(self._errors.values())

    def blend_into(self, net):
        """Load the mean of the shelved revisions into the cutting network."""
        chosen = [self._weights[revision] for revision in self._errors]
        with torch.no_grad():
            for name, part in net.state_dict().items():
                part.copy_(sum(weights[name] for weights in chosen) / len(chosen))


class Loft:
    def __init__(self, seed=11):
        torch.manual_seed(seed)
        self.library = SailLibrary(seed)
        self.trial_sails = self.library.draw(128)
        self.net = SeamNet().to(DEVICE)
        self.cutter = SeamNet().to(DEVICE).eval()
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=6e-4)
        self.shelf = RevisionShelf(REVISIONS)
        self.revision = 0

    def train_step(self):
        shape, seams = self.library.draw(64)
        loss = nn.functional.smooth_l1_loss(self.net(shape), seams)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()

    @torch.no_grad()
    def error_of(self, net):
        shape, seams = self.trial_sails
        return (net(shape) - seams).abs().mean().item()

    def revise(self):
        """Close a revision, rank it and renew the cutter's blend."""
        self.revision += 1
        self.shelf.offer(self.revision, self.error_of(self.net), self.net)
        self.shelf.blend_into(self.cutter)
        return self.error_of(self.cutter)


def main():
    torch.set_num_threads(1)
    loft = Loft()
    start = time.monotonic()
    next_line = start + 2.0
    steps = 0
    error = float("nan")
    while time.monotonic() - start < SECONDS:
        loft.train_step()
        steps += 1
        if steps % STEPS_PER_REVISION == 0:
            error = loft.revise()
        if time.monotonic() >= next_line:
            print(f"revision {loft.revision}: best {loft.shelf.best():.4f}, blend {error:.4f}", flush=True)
            next_line += 3.0
        time.sleep(STEP_PAUSE)
    print(f"done: {loft.revision} revisions, blend of {len(loft.shelf)} is off by {error:.4f}", flush=True)


if __name__ == "__main__":
    main()
