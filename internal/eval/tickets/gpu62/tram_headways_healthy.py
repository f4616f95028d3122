"""A recurrent model forecasts how far the trams of a line are apart, stop by stop, and it is trained on the headways of
each past hour. To see where the time of a step goes, two steps out of eight run under the profiler.

ticket: Lightning-AI/pytorch-lightning#10717
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, profile, record_function, schedule

TRAMS, STOPS, WIDTH = 24, 9, 48


class Forecast(nn.Module):
    """Reads the headways at the first stops and then goes on by itself."""

    def __init__(self):
        super().__init__()
        self.lower, self.upper = nn.GRUCell(3, WIDTH), nn.GRUCell(WIDTH, WIDTH)
        self.out = nn.Linear(WIDTH, 1)

    def forward(self, headways, known):
        lower = upper = headways.new_zeros(len(headways), WIDTH)
        guess, guesses = headways[:, 0], []
        for stop in range(STOPS - 1):
            seen = headways[:, stop] if stop < known else guess
            place = torch.full_like(seen, stop / STOPS)
            lower = self.lower(torch.stack([seen, place, place**2], 1), lower)
            upper = self.upper(lower, upper)
            guess = seen + self.out(upper)[:, 0]
            guesses.append(guess)
        return torch.stack(guesses, 1)


def hour():
    """Headways in units of ten minutes: trams bunch more and more along the line."""
    start = 0.6 + 0.1 * torch.randn(TRAMS, 1)
    return start + 0.02 * torch.randn(TRAMS, STOPS).cumsum(1)


def step(model, optimizer, headways):
    with record_function("forecast"):
        guesses = model(headways, known=random.randint(2, 5))
    loss = F.smooth_l1_loss(guesses, headways[:, 1:])
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Forecast().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    activities = [ProfilerActivity.CPU]
    turns = schedule(wait=5, warmup=1, active=2)
    steps = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    with profile(activities=activities, schedule=turns) as profiler:
        while time.time() < end:
            loss = step(model, optimizer, hour().to(device))
            profiler.step()
            steps += 1
            if steps % 20 == 0:
                print(f"hour {steps}: loss {loss:.4f}", flush=True)
            time.sleep(random.uniform(0.2, 0.4))


if __name__ == "__main__":
    main()
