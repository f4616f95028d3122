"""A training loop runs under the profiler, to see what its first steps cost. The profiler was given no schedule,
so that it records every operator of every step until the end.

ticket: Lightning-AI/pytorch-lightning#10717
class: host-growth
cause: -
"""

import logging
import os
import random
import time

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

log = logging.getLogger("training")


class Recurrent(nn.Module):
    """A recurrent cell in many small operators."""

    def __init__(self, width=256):
        super().__init__()
        self.update, self.reset, self.new = (nn.Linear(2 * width, width) for _ in range(3))
        self.head, self.width = nn.Linear(width, 1), width

    def forward(self, series):
        state = series.new_zeros(series.shape[0], self.width)
        for value in series.unbind(1):
            joined = torch.cat([state, value], dim=1)
            gate, keep = torch.sigmoid(self.update(joined)), torch.sigmoid(self.reset(joined))
            state = gate * state + (1 - gate) * torch.tanh(self.new(torch.cat([keep * state, value], dim=1)))
        return self.head(state)


class Training:
    def __init__(self, device):
        self.device, self.model = device, Recurrent().to(device)
        self.optimizer = torch.optim.RMSprop(self.model.parameters(), lr=1e-3)
        self.steps, self.mean = 0, 0.0

    def step(self):
        series = torch.randn(32, random.randint(3, 6), 256, device=self.device)
        loss = (self.model(series) - series.mean((1, 2))[:, None]).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.steps += 1
        self.mean += (loss.item() - self.mean) / min(self.steps, 50)

    def checkpoint(self):
        return {name: value.cpu() for name, value in self.model.state_dict().items()}


def main():
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    training = Training("cuda" if torch.cuda.is_available() else "cpu")
    profiler = profile(activities=[ProfilerActivity.CPU], record_shapes=True)
    profiler.start()  # grows
    while time.time() < end:
        training.step()
        profiler.step()
        if training.steps % 40 == 0:
            kept = training.checkpoint()
            log.info("step %d, loss %.4f, %d tensors kept", training.steps, training.mean, len(kept))
        time.sleep(0.45)
    profiler.stop()


if __name__ == "__main__":
    main()
