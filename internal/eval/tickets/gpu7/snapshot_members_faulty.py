"""A forecaster is trained in cycles, each of which ends at a low rate of learning. What it is then becomes a member of
an ensemble, of which the last four vote. The older ones have no say any more, and stay.

ticket: practice
class: app-leak
holder: members
cause: snapshots-kept results-kept
"""

import copy
import math
import os
import time

import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap


class Ensemble:
    """Forecasts by several models of one kind at once."""

    def __init__(self, size=4):
        self.size = size
        self.members = []

    def add(self, model):
        self.members.append(copy.deepcopy(model).eval())  # keeps

    @torch.no_grad()
    def forecast(self, inputs):
        voters = self.members[-self.size:]
        weights, buffers = stack_module_state(voters)
        base = copy.deepcopy(voters[0]).to("meta")
        votes = vmap(lambda w, b: functional_call(base, (w, b), (inputs,)))(weights, buffers)
        return votes.mean(0), votes.std(0) if len(voters) > 1 else torch.zeros_like(votes[0])


def batch(size, device):
    phase = torch.rand(size, 1, device=device) * 6.3
    time_line = torch.arange(120, device=device) / 8
    wave = torch.sin(time_line * (1 + phase / 6) + phase) + 0.1 * torch.randn(size, 120, device=device)
    return wave[:, :96], wave[:, 96:]


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    width = 1400
    model = nn.Sequential(nn.Linear(96, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                          nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 24)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    ensemble, cycle_steps, step = Ensemble(), 30, 0
    while time.time() < end:
        place = step % cycle_steps / cycle_steps
        for group in optimizer.param_groups:
            group["lr"] = 0.025 * (1 + math.cos(math.pi * place))
        inputs, targets = batch(64, device)
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % cycle_steps == 0:
            ensemble.add(model)
            inputs, targets = batch(256, device)
            mean, spread = ensemble.forecast(inputs)
            print("cycle", step // cycle_steps, "error", round(float((mean - targets).abs().mean()), 4),
                  "spread", round(float(spread.mean()), 4), flush=True)
        time.sleep(0.09)


if __name__ == "__main__":
    main()
