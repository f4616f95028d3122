"""Traverses of a pitot rake behind a model wing, read from a learned surrogate of the wind tunnel.

The surrogate maps the place of a tube and the flow conditions to pressures. For each traverse the engineers look at
the mean response of its hidden layers over a few frames, to see where in the wake the surrogate is near the edge of
what it was taught.

ticket: practice
class: app-leak
holder: _forward_hooks
cause: hooks-left
"""

import os
import time

import torch
from torch import nn

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
FRAMES_PER_SECOND = 15
FRAMES_PER_TRAVERSE = 3
TUBES = 512
WIDTH = 512


class TunnelSurrogate(nn.Module):
    """A small dense network from (x, y, z, angle, speed, turbulence) to static and total pressure."""

    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(6, WIDTH),
            nn.GELU(),
            nn.Linear(WIDTH, WIDTH),
            nn.GELU(),
            nn.Linear(WIDTH, 2),
        )

    def forward(self, places):
        return self.trunk(places)


class LayerMean:
    """Running mean of what one layer puts out, over the frames of a traverse."""

    def __init__(self, frames):
        self.frames = frames
        self.seen = 0
        self.mean = torch.zeros(TUBES, WIDTH, device=DEVICE)  # grows

    def record(self, module, inputs, output):
        if self.seen < self.frames:
            self.seen += 1
            self.mean.add_((output.detach() - self.mean) / self.seen)

    def saturation(self):
        return (self.mean.abs() < 1e-2).float().mean().item()


class Traverse:
    """One pass of the rake across the wake at a fixed angle of attack."""

    def __init__(self, surrogate, angle):
        self.surrogate = surrogate
        self.angle = angle
        self.means = []
        self._handles = {}

    def __enter__(self):
        for name, module in self.surrogate.named_modules():
            if isinstance(module, nn.GELU):
                mean = LayerMean(FRAMES_PER_TRAVERSE)
                self.means.append(mean)
                self._handles[type(module).__name__] = module.register_forward_hook(mean.record)  # keeps
        return self

    def __exit__(self, *exc):
        for handle in self._handles.values():
            handle.remove()
        self._handles.clear()

    def saturations(self):
        return [mean.saturation() for mean in self.means]


class Rake:
    """Places of the tubes and the state of the stream they stand in."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.tubes = torch.rand(TUBES, 3, device=DEVICE, generator=self.generator)
        self.calibration = torch.rand(3000, 2048, device=DEVICE, generator=self.generator)

    def places(self, angle, speed):
        shaken = self.tubes + 0.01 * torch.randn(TUBES, 3, device=DEVICE, generator=self.generator)
        stream = torch.tensor([angle, speed, 0.02], device=DEVICE).expand(TUBES, 3)
        return torch.cat([shaken, stream], dim=1)

    def corrected(self, pressures, frame):
        row = self.calibration[frame % 3000, :TUBES]
        return (pressures[:, 1] - pressures[:, 0]) * (0.9 + 0.2 * row)


def main():
    torch.manual_seed(7)
    surrogate = TunnelSurrogate().to(DEVICE).eval()
    rake = Rake(seed=8)
    start = time.monotonic()
    frame = traverses = 0
    while time.monotonic() - start < SECONDS:
        angle = -0.2 + 0.05 * (traverses % 9)
        head = 0.0
        with Traverse(surrogate, angle) as traverse, torch.no_grad():
            for _ in range(FRAMES_PER_TRAVERSE):
                began = time.monotonic()
                pressures = surrogate(rake.places(angle, speed=0.6))
                head = rake.corrected(pressures, frame).mean().item()
                frame += 1
                time.sleep(max(0.0, 1.0 / FRAMES_PER_SECOND - (time.monotonic() - began)))
        traverses += 1
        if traverses % 12 == 0:
            first, second = traverse.saturations()
            print(
                f"traverse {traverses} at {angle:+.2f} rad: head {head:.4f}, flat {first:.3f} {second:.3f}",
                flush=True,
            )
    print(f"tunnel stopped after {traverses} traverses, {frame} frames", flush=True)


if __name__ == "__main__":
    main()
