"""A recurrent network predicts the temperature in a pottery kiln. Some steps take much longer than others, and we want
to know why: every other step runs under the profiler, and the report shows the slowest one so far, with the operations
that took most of its time.

ticket: practice
class: host-growth
holder: traces Traces
cause: results-kept buffer-without-bound
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, profile, record_function

SENSORS, HIDDEN, BATCH = 6, 48, 16
PROFILE_EVERY, REPORT_EVERY = 2, 10


class Kiln(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(SENSORS, HIDDEN)
        self.head = nn.Linear(HIDDEN, 1)

    def forward(self, readings):
        hidden = readings.new_zeros(readings.shape[0], HIDDEN)
        for moment in readings.unbind(1):
            hidden = self.cell(moment, hidden)
        return self.head(hidden).squeeze(1)


class Traces:
    """The profiles of steps, of which the slowest is of interest."""

    def __init__(self):
        self.traces = []

    def add(self, step, seconds, events):
        self.traces.append((seconds, step, events))  # keeps

    def report(self):
        seconds, step, events = max(self.traces, key=lambda trace: trace[0])
        dear = sorted(events.key_averages(), key=lambda event: event.self_cpu_time_total, reverse=True)
        names = ", ".join(event.key for event in dear[:3])
        return f"slowest: step {step} with {1000 * seconds:.0f} ms, mostly {names}"


def firing(device):
    moments = random.choice((16, 20, 24))
    readings = torch.randn(BATCH, moments, SENSORS, device=device).cumsum(1)
    return readings, readings[:, -1].mean(1)


def train(model, optimizer, device):
    readings, target = firing(device)
    with record_function("forward"):
        loss = F.mse_loss(model(readings), target)
    with record_function("backward"):
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
    optimizer.step()
    return loss.item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, traces, step = Kiln().to(device), Traces(), 0
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        step += 1
        if step % PROFILE_EVERY == 0:
            start = time.perf_counter()
            with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
                loss = train(model, optimizer, device)
            traces.add(step, time.perf_counter() - start, profiler.events())  # grows
        else:
            loss = train(model, optimizer, device)
        if step % REPORT_EVERY == 0:
            print(f"step {step}: loss {loss:.3f}; {traces.report()}", flush=True)
        time.sleep(0.05)


if __name__ == "__main__":
    main()
