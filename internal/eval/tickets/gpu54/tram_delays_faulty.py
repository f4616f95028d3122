"""Forecasts the delays of a city's trams several times a second. A watch profiles each fifth forecast,
so that the report can name the operators that took most of the time in the last three of these.

ticket: pytorch/pytorch#193348
class: host-growth
holder: profiles Watch profile
cause: results-kept buffer-without-bound
"""

import gc
import os
import time
from collections import Counter

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

STOPS, PAST, AHEAD, WIDTH = 120, 20, 10, 48


class Forecaster(nn.Module):
    """Rolls the delays ahead minute by minute; neighbouring stops share what they know."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(2, WIDTH)
        self.share = nn.Linear(WIDTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.delay = nn.Linear(WIDTH, 1)

    def step(self, delays, hidden):
        around = (delays.roll(1) + delays.roll(-1)) / 2
        hidden = self.cell(torch.stack([delays, around], dim=1), hidden)
        hidden = self.norm(hidden + torch.tanh(self.share(hidden.roll(1, dims=0))))
        return self.delay(hidden).squeeze(1), hidden

    def forward(self, past):
        hidden = past.new_zeros(STOPS, WIDTH)
        for delays in past:
            ahead, hidden = self.step(delays, hidden)
        forecast = []
        for _ in range(AHEAD):
            ahead, hidden = self.step(ahead, hidden)
            forecast.append(ahead)
        return torch.stack(forecast)


class Watch:
    def __init__(self):
        self.profiles, self.runs = [], 0

    def run(self, model, past):
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as watched:  # grows
            forecast = model(past)
        watched.key_averages()  # grows
        self.profiles.append(watched)  # keeps
        self.runs += 1
        if self.runs % 8 == 0:
            gc.collect()
        return forecast

    def __str__(self):
        spent = Counter()
        for watched in self.profiles[-3:]:
            for row in watched.key_averages():
                spent[row.key] += row.self_cpu_time_total / 1000
        return ", ".join(f"{name} {total:.1f} ms" for name, total in spent.most_common(3))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(2)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, watch, forecasts = Forecaster().to(device).eval(), Watch(), 0
    delays = torch.rand(PAST, STOPS)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    with torch.no_grad():
        while time.time() < end:
            fresh = (0.9 * delays[-1] + 0.3 * torch.randn(STOPS)).clamp(min=0)
            delays = torch.cat([delays[1:], fresh[None]])
            past = delays.to(device)
            forecast = watch.run(model, past) if forecasts % 5 == 0 else model(past)
            forecasts += 1
            if forecasts % 50 == 0:
                print(f"forecast {forecasts}: worst {forecast.max().item():.2f} min; {watch}", flush=True)
            time.sleep(0.05)


if __name__ == "__main__":
    main()
