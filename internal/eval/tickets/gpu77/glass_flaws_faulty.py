"""Looks for flaws in panes of window glass as they leave the line. A small network says of each pane whether it is
good. Once in a while the foreman wants to see where the network looks, so the answer of the middle layer is caught
with a hook, stretched to the size of the pane, and its brightest spot is printed.

ticket: practice
class: app-leak
holder: seen catch hook hooks _forward_hooks
cause: hooks-left closure-kept
"""

import os
import random
import time
from functools import wraps

import torch
from torch import nn
from torch.nn import functional as F

SIZE, PANES, KINDS, EVERY = 384, 4, 3, 5


def timed(function):
    """Count the calls of a function and the seconds that they take."""

    @wraps(function)
    def wrapper(*args, **kwargs):
        start = time.perf_counter()
        result = function(*args, **kwargs)
        wrapper.seconds += time.perf_counter() - start
        wrapper.calls += 1
        return result

    wrapper.seconds, wrapper.calls = 0.0, 0
    return wrapper


class Inspector(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 8, 7, stride=4, padding=3), nn.ReLU())
        self.middle = nn.Sequential(nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU())
        self.judge = nn.Sequential(nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(16 * 16, KINDS))

    def forward(self, panes):
        return self.judge(self.middle(self.stem(panes)))


def next_panes(device):
    panes = 0.02 * torch.randn(PANES, 1, SIZE, SIZE, device=device)
    for pane in panes:
        if random.random() < 0.3:
            row, column = random.randrange(SIZE - 30), random.randrange(SIZE - 30)
            pane[:, row:row + 30, column:column + 4] += 1.0
    return panes


@timed
@torch.inference_mode()
def inspect(model, panes):
    return model(panes).argmax(dim=1).tolist()


@timed
def where(model, panes):
    """For each pane the spot at which the middle layer is brightest."""
    seen = {}

    def catch(module, inputs, output):
        heat = output.mean(dim=1, keepdim=True)
        seen["heat"] = F.interpolate(heat, size=(SIZE, SIZE), mode="bilinear", align_corners=False)  # grows keeps

    model.middle.register_forward_hook(catch)  # keeps
    inspect(model, panes)
    brightest = seen["heat"].flatten(1).argmax(dim=1).tolist()
    return [divmod(spot, SIZE) for spot in brightest]


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, batches = Inspector().to(device).eval(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        panes = next_panes(device)
        kinds = inspect(model, panes)
        batches += 1
        if batches % EVERY == 0:
            row, column = where(model, panes)[0]
            print(f"batch {batches}: kinds {kinds}, the first looks odd at row {row}, column {column}, "
                  f"{1000 * inspect.seconds / inspect.calls:.1f} ms a batch", flush=True)
        time.sleep(random.uniform(0.04, 0.1))


if __name__ == "__main__":
    main()
