"""A sail loft trains a small network that foresees the flying shape of a mainsail.

The input is a list of the seams of the sail: broad seam widths, luff round, batten stiffness and leech tension. The
target is the depth of the sail over a grid of 64 by 64 points, worked out from a simple rule of the loft with some
noise. After every step of training the network is tried on the sails of the order book, and every two seconds the
loft reads how steady the shapes of the last tries are.

ticket: practice
class: app-leak
holder: tries
cause: results-kept
"""
import os
import time
from dataclasses import dataclass

import torch
from torch import nn

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
STEPS_PER_SECOND = 8
READ_EVERY = 16
SEAMS = 18
SIDE = 64
ORDERS = 48


class ShapeNet(nn.Module):
    """From the seams of a mainsail to its depth over the grid."""

    def __init__(self, hidden=96):
        super().__init__()
        self.seams = nn.Sequential(nn.Linear(SEAMS, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.depth = nn.Linear(hidden, SIDE * SIDE)

    def forward(self, panels):
        return self.depth(self.seams(panels))  # grows


class LoftRule:
    """The rule of thumb of the loft: every seam adds a hump of its own to the sail."""

    def __init__(self, seed):
        self._generator = torch.Generator().manual_seed(seed)
        along = torch.linspace(0.0, 1.0, SIDE)
        centres = torch.rand(SEAMS, 2, generator=self._generator)
        across = torch.exp(-((along.view(1, -1) - centres[:, :1]) * 4.0) ** 2)
        upwards = torch.exp(-((along.view(1, -1) - centres[:, 1:]) * 3.0) ** 2)
        self._humps = (upwards.unsqueeze(2) * across.unsqueeze(1)).reshape(SEAMS, -1).to(DEVICE)

    def draw(self, count):
        panels = torch.rand(count, SEAMS, generator=self._generator).to(DEVICE)
        noise = 0.02 * torch.randn(count, 1, generator=self._generator).to(DEVICE)
        return panels, panels @ self._humps / SEAMS + noise


@dataclass
class Try:
    step: int
    error: float
    shapes: torch.Tensor

    def fullest(self):
        return self.shapes.max(dim=1).values.mean().item()


class Fitting:
    def __init__(self, rule, seed):
        torch.manual_seed(seed)
        self.rule = rule
        self.net = ShapeNet().to(DEVICE)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=2e-3)
        self.order_panels, self.order_depths = rule.draw(ORDERS)
        self.tries = []
        self.step = 0

    def train_step(self):
        panels, depths = self.rule.draw(32)
        self.optimizer.zero_grad()
        loss = nn.functional.mse_loss(self.net(panels), depths)
        loss.backward()
        self.optimizer.step()
        self.step += 1
        return loss.item()

    def try_orders(self):
        self.net.eval()
        with torch.no_grad():
            shapes = self.net(self.order_panels)
            error = (shapes - self.order_depths).abs().mean().item()
        self.net.train()
        self.tries.append(Try(self.step, error, shapes))  # keeps

    def steadiness(self):
        latest = self.tries[-READ_EVERY:]
        middle = sum(attempt.shapes for attempt in latest) / len(latest)
        wander = max((attempt.shapes - middle).abs().max().item() for attempt in latest)
        best = min(latest, key=lambda attempt: attempt.error)
        return wander, best


def main():
    fitting = Fitting(LoftRule(seed=12), seed=5)
    started = time.monotonic()
    smoothed = None
    while time.monotonic() - started < SECONDS:
        loss = fitting.train_step()
        smoothed = loss if smoothed is None else 0.9 * smoothed + 0.1 * loss
        fitting.try_orders()
        if fitting.step % READ_EVERY == 0:
            wander, best = fitting.steadiness()
            print(
                f"step {fitting.step} loss {smoothed:.5f} wander {wander:.4f}"
                f" best {best.error:.4f} at {best.step}, fullest {best.fullest():.3f}",
                flush=True,
            )
        time.sleep(max(0.0, started + fitting.step / STEPS_PER_SECOND - time.monotonic()))
    print(f"fitting ended after {fitting.step} steps, loss {smoothed:.5f}", flush=True)


if __name__ == "__main__":
    main()
