"""Cleans chromatograms of perfume lots and reports how well each lot fits the first filter.

A small one-dimensional network learns to take noise and drift off gas chromatograms, lot after lot. While a lot is
being worked on, a spotlight sits on the kernels of the first layer: it compares the gradient of each step with a
reference direction that is drawn from blank runs of the lot, and reports the mean agreement when the lot is finished.

ticket: practice
class: host-growth
holder: _backward_hooks
cause: hooks-left
"""
import os
import time

import torch
import torch.nn.functional as F
from torch import nn

POINTS = 1500
VIALS = 12
BLANKS = 700
STEPS_PER_LOT = 6
STEP_TIME = 0.16


class PeakCleaner(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(1, 8, 15, padding=7)
        self.second = nn.Conv1d(8, 1, 9, padding=4)

    def forward(self, trace):
        return self.second(F.elu(self.first(trace)))


class Spotlight:
    """Watches the gradient of a weight for the duration of a lot."""

    def __init__(self, weight, blanks):
        self.weight = weight
        self.blanks = blanks
        self.agreements = []
        self.handle = None

    def __enter__(self):
        self.handle = self.weight.register_hook(self.observe)  # keeps
        return self

    def __exit__(self, kind, problem, trace):
        self.weight = None
        return False

    def observe(self, grad):
        if len(self.agreements) == STEPS_PER_LOT:
            return
        pick = self.blanks[len(self.agreements) * 7 % self.blanks.shape[0]]
        taps = grad.shape[-1]
        reference = pick[: grad.numel() // taps * taps].view(-1, taps)
        agreement = F.cosine_similarity(grad.flatten(), reference.flatten(), dim=0)
        self.agreements.append(float(agreement))

    def mean(self):
        return sum(self.agreements) / max(len(self.agreements), 1)


class Lot:
    """Makes the chromatograms of one lot: sharp peaks at the lot's own retention times."""

    def __init__(self, number):
        self.number = number
        count = 10 + number % 9
        self.times = torch.rand(count) * POINTS
        self.widths = 3.0 + 9.0 * torch.rand(count)
        self.axis = torch.arange(POINTS, dtype=torch.float32)

    def vials(self):
        heights = torch.rand(VIALS, self.times.numel()).pow(2)
        shapes = torch.exp(-0.5 * ((self.axis - self.times[:, None]) / self.widths[:, None]) ** 2)
        clean = (heights @ shapes).unsqueeze(1)
        drift = 0.3 * torch.sin(self.axis / 400.0 + float(torch.rand(())) * 6.0)
        return clean, clean + drift + 0.08 * torch.randn_like(clean)

    def blanks(self):
        noise = torch.randn(BLANKS, POINTS)
        return noise.cumsum(dim=1).mul_(0.01).add_(noise, alpha=0.2)  # grows


def work_lot(lot, model, optimizer, end):
    """Train on the vials of a lot; gives the last loss and the agreement that the spotlight saw."""
    loss = torch.zeros(())
    with Spotlight(model.first.weight, lot.blanks()) as spotlight:
        for _ in range(STEPS_PER_LOT):
            started = time.time()
            if started >= end:
                break
            clean, noisy = lot.vials()
            loss = F.mse_loss(model(noisy), clean)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(max(0.02, STEP_TIME - (time.time() - started)))
    return loss.item(), spotlight.mean()


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(40)
    model = PeakCleaner()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    number = 0
    while time.time() < end:
        number += 1
        loss, agreement = work_lot(Lot(number), model, optimizer, end)
        if number % 3 == 0:
            print(f"lot {number}: loss {loss:.4f}, agreement {agreement:+.3f}", flush=True)


if __name__ == "__main__":
    main()
