"""Training of a surrogate for the feed of a fountain pen.

The feed leads ink from the converter to the nib and lets air back through its fins. A slow capillary model gives the
flow for a geometry of fins and a motion of the hand; a network learns to say the same at once, from random
geometries. The training runs with a lively learning rate, so it sets restore points and goes back to one when the
loss jumps.

ticket: practice
class: app-leak
holder: _restore_points
cause: snapshots-kept
"""
import os
import time

import torch
from torch import nn

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 5
RESTORE_EVERY = 5.0
FINS = 256
MOMENTS = 512
BATCH = 48

torch.set_num_threads(1)


class CapillaryModel:
    """Reference flow of a feed, from fin gaps and the tilt of the pen."""

    def __init__(self, generator):
        self.generator = generator
        self.coupling = torch.randn(FINS, MOMENTS, generator=generator, device=DEVICE) / FINS**0.5
        self.times = torch.linspace(0.0, 6.0, MOMENTS, device=DEVICE)

    def sample(self, count):
        gaps = torch.rand(count, FINS, generator=self.generator, device=DEVICE)
        tilt = torch.rand(count, 1, generator=self.generator, device=DEVICE)
        swing = torch.sin(self.times * (1.0 + tilt))
        flow = torch.tanh((gaps - 0.5) @ self.coupling) * 0.5 + swing * tilt
        return torch.cat([gaps, tilt], dim=1), flow


class FeedNetwork(nn.Module):
    """Maps the geometry of the fins and the tilt to the flow over time."""

    def __init__(self, width=1920):
        super().__init__()
        self.inlet = nn.Linear(FINS + 1, width)
        self.channel = nn.Linear(width, width)
        self.outlet = nn.Linear(width, MOMENTS)

    def forward(self, geometry):
        wet = torch.relu(self.inlet(geometry))
        wet = wet + torch.relu(self.channel(wet))
        return self.outlet(wet)


class Trainer:
    """Trains the network and guards it against jumps of the loss."""

    def __init__(self, network, reference):
        self.network = network
        self.reference = reference
        self.optimizer = torch.optim.Adam(network.parameters(), lr=2e-4)
        self.average = None
        self.returns = 0
        self._restore_points = []

    def set_restore_point(self):
        weights = {name: value.detach().clone() for name, value in self.network.state_dict().items()}  # grows
        self._restore_points.append(weights)  # keeps

    def go_back(self):
        self.network.load_state_dict(self._restore_points[-1])
        for group in self.optimizer.param_groups:
            group["lr"] = max(1e-5, 0.7 * group["lr"])
        self.returns += 1

    def step(self):
        geometry, flow = self.reference.sample(BATCH)
        loss = nn.functional.mse_loss(self.network(geometry), flow)
        self.optimizer.zero_grad(set_to_none=False)
        loss.backward()
        self.optimizer.step()
        value = float(loss.detach())
        if self.average is None:
            self.average = value
        elif value > 3.0 * self.average:
            self.go_back()
        else:
            self.average += 0.1 * (value - self.average)
        return value


@torch.no_grad()
def driest_moment(network, reference):
    """Largest shortfall of ink that the network foresees on a fresh sample."""
    geometry, flow = reference.sample(BATCH)
    shortfall = (flow - network(geometry)).mean(dim=0)
    return float(reference.times[int(shortfall.argmax())])


def main():
    torch.manual_seed(5)
    generator = torch.Generator(device=DEVICE)
    generator.manual_seed(5)
    reference = CapillaryModel(generator)
    network = FeedNetwork().to(DEVICE)
    trainer = Trainer(network, reference)
    started = time.monotonic()
    next_restore = started
    next_report = started + 4.0
    steps = 0
    while time.monotonic() - started < SECONDS:
        began = time.monotonic()
        if began >= next_restore:
            trainer.set_restore_point()
            next_restore += RESTORE_EVERY
        trainer.step()
        steps += 1
        if began >= next_report:
            dry = driest_moment(network, reference)
            print(
                f"step {steps:4d}  loss {trainer.average:.4f}  returns {trainer.returns}  "
                f"driest {dry:.2f} s",
                flush=True,
            )
            next_report += 4.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - began)))
    print(f"trained {steps} steps, loss {trainer.average:.4f}", flush=True)


if __name__ == "__main__":
    main()
