"""A network learns from a kiln's curve of heat how its glaze will look. Its activation is an operation of our own,
with the derivative computed from the output. Python's collector of cycles is off during the training, for its
pauses made the steps uneven.

ticket: practice
class: host-growth
holder: SoftCeilingBackward SoftCeiling bent grad_fn
cause: reference-cycle
"""

import gc
import os
import random
import time

import torch
from torch import nn

POINTS, WIDTH, BATCH, COLOURS = 96, 768, 192, 3


class SoftCeiling(torch.autograd.Function):
    """Rises like the input and bends towards a ceiling of one."""

    @staticmethod
    def forward(ctx, x):
        bent = torch.tanh(x.clamp(min=-1.0))  # grows
        ctx.bent = bent  # keeps
        return bent

    @staticmethod
    def backward(ctx, grad):
        slope = 1 - ctx.bent**2
        return torch.where(ctx.bent > -0.76, grad * slope, torch.zeros_like(grad))


class Bend(nn.Module):
    def forward(self, x):
        return SoftCeiling.apply(x)


def network():
    return nn.Sequential(
        nn.Linear(POINTS, WIDTH),
        Bend(),
        nn.Linear(WIDTH, WIDTH // 2),
        Bend(),
        nn.Linear(WIDTH // 2, COLOURS),
    )


def firings(count):
    """Curves of heat and the colour that came of each."""
    top = torch.rand(count, 1) * 0.4 + 0.6
    hold = torch.rand(count, 1) * 30 + 20
    hours = torch.arange(POINTS)
    curve = top * torch.sigmoid((hours - 20) / 6) * torch.sigmoid((20 + hold + 20 - hours) / 8)
    curve = curve + 0.01 * torch.randn(count, POINTS)
    colour = torch.cat([top, hold / 50, top * hold / 50], dim=1)
    return curve, colour


def test_error(model):
    with torch.no_grad():
        curve, colour = firings(256)
        return (model(curve) - colour).abs().mean().item()


def main():
    torch.set_num_threads(1)
    gc.disable()
    model, steps = network(), 0
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        curve, colour = firings(BATCH)
        loss = (model(curve) - colour).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        steps += 1
        if steps % 25 == 0:
            print(f"step {steps}: loss {loss.item():.4f}, test error {test_error(model):.3f}", flush=True)
        time.sleep(random.uniform(0.03, 0.12))


if __name__ == "__main__":
    main()
