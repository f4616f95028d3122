"""Learns the mode shapes of violin plates from their thickness maps.

A maker graduates spruce tops on a milling table and records where the Chladni sand gathers. The network reads a
thickness map and draws the four lowest modes. Every other round a fixed set of test plates is drawn again, to see how
far the drawings still move between two checks.

ticket: practice
class: app-leak
holder: drawings
cause: results-kept
"""
import os
import time

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
GRID = 64
MODES = 4
BATCH = 8
TEST_PLATES = 32
CHECK_EVERY = 2
PAUSE = 0.14


class PlateNet(nn.Module):
    """A small convolutional network from thickness to mode shapes."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 8, 5, padding=2),
            nn.Tanh(),
            nn.Conv2d(8, 8, 3, padding=1),
            nn.Tanh(),
            nn.Conv2d(8, MODES, 3, padding=1),
        )

    def forward(self, thickness):
        return self.layers(thickness)


class Workshop:
    """Makes plates at random, with the modes that a beam model gives them."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        axis = torch.linspace(-1.0, 1.0, GRID)
        self.across, self.along = torch.meshgrid(axis, axis, indexing="ij")

    def plates(self, count):
        arch = torch.rand(count, 1, 1, generator=self.generator) * 0.8 + 2.2
        taper = torch.rand(count, 1, 1, generator=self.generator) * 0.6
        thickness = arch - taper * (self.across ** 2 + 0.5 * self.along ** 2)
        thickness = thickness + 0.02 * torch.randn(count, GRID, GRID, generator=self.generator)
        modes = [torch.sin((mode + 1) * self.along * thickness) for mode in range(MODES)]
        return thickness.unsqueeze(1).to(DEVICE), torch.stack(modes, dim=1).to(DEVICE)


class ModeCheck:
    """Draws the test plates and compares with the drawings of the check before."""

    def __init__(self, workshop, stride):
        self.thickness, self.modes = workshop.plates(TEST_PLATES)
        self.stride = stride
        self.drawings = {}
        self.error = float("nan")
        self.movement = float("nan")

    @torch.no_grad()
    def run(self, net, step):
        net.eval()
        drawn = net(self.thickness)  # grows
        net.train()
        self.error = torch.mean((drawn - self.modes) ** 2).item()
        earlier = self.drawings.get(step - self.stride)
        if earlier is not None:
            self.movement = torch.mean(torch.abs(drawn - earlier)).item()
        self.drawings[step] = drawn  # keeps
        return self.error


class Trainer:
    def __init__(self, workshop):
        self.workshop = workshop
        self.net = PlateNet().to(DEVICE)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=2e-3)
        self.loss = float("nan")

    def step(self):
        thickness, modes = self.workshop.plates(BATCH)
        self.optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(self.net(thickness), modes)
        loss.backward()
        self.optimizer.step()
        self.loss = loss.item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1704)
    trainer = Trainer(Workshop(seed=11))
    check = ModeCheck(Workshop(seed=12), CHECK_EVERY)
    began = time.monotonic()
    spoken = began
    step = 0
    while time.monotonic() - began < SECONDS:
        trainer.step()
        if step % CHECK_EVERY == 0:
            check.run(trainer.net, step)
        step += 1
        if time.monotonic() - spoken >= 3.0:
            spoken = time.monotonic()
            print(f"step {step}: loss {trainer.loss:.4f}, test {check.error:.4f}, "
                  f"moved {check.movement:.5f}", flush=True)
        time.sleep(PAUSE)
    print(f"done after {step} steps, test error {check.error:.4f}", flush=True)


if __name__ == "__main__":
    main()
