"""
A paper machine is watched by a light table above the wire: the transmitted light shows how evenly the
fibres lie. A small network estimates the formation index of each strip, and strips with blotches
are set aside for the wet-end operator. The operator's page shows the course of the last
seconds and the last blotches.

ticket: practice
class: host-growth
holder: blotches
cause: buffer-without-bound
"""
import collections
import os
import time

import torch

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
STRIP = (128, 400)
COURSE_STRIPS = 20 * ROUNDS_PER_SECOND
BLOTCH_STRIPS = 40


class FormationNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(1, 6, 7, stride=4)
        self.second = torch.nn.Conv2d(6, 8, 5, stride=4)
        self.index = torch.nn.Linear(8, 1)

    def forward(self, strip):
        hidden = torch.relu(self.first(strip[None, None]))
        hidden = torch.relu(self.second(hidden))
        return self.index(hidden.mean(dim=(2, 3))).squeeze()


class LightTable:
    """Simulates the light that passes through the wet web."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.flocs = torch.rand((160, 512), generator=self.generator)
        self.rounds = 0

    def strip(self):
        self.rounds += 1
        shift = int(torch.randint(0, 100, (1,), generator=self.generator))
        light = self.flocs[shift % 30:shift % 30 + STRIP[0], shift:shift + STRIP[1]]
        noise = torch.randn(STRIP, generator=self.generator)
        return light + 0.05 * noise

    def retention(self):
        mix = torch.rand(self.flocs.shape, generator=self.generator)
        self.flocs = 0.995 * self.flocs + 0.005 * mix


class StripLog:
    """Strips in the order of their making, of which the operator looks at the latest."""

    def __init__(self, limit):
        self.limit = limit
        self.strips = collections.deque()

    def add(self, strip, index):
        self.strips.append((strip, index))  # keeps

    def trim(self):
        while len(self.strips) > self.limit:
            self.strips.popleft()

    def mean_index(self, last):
        indices = [index for _, index in list(self.strips)[-last:]]
        return sum(indices) / len(indices) if indices else 0.0


class WireWatch:
    def __init__(self, seed=23):
        torch.manual_seed(seed)
        self.table = LightTable(seed)
        self.net = FormationNet().eval()
        self.course = StripLog(COURSE_STRIPS)
        self.blotches = StripLog(BLOTCH_STRIPS)
        self.blotch_count = 0
        self.indices = 0.0

    @torch.no_grad()
    def round(self):
        strip = self.table.strip()
        index = float(self.net(strip))
        self.indices = 0.95 * self.indices + 0.05 * index
        self.course.add(strip, index)
        self.course.trim()
        self.mark_blotches(strip, index)
        self.table.retention()

    def mark_blotches(self, strip, index):
        smooth = torch.nn.functional.avg_pool2d(strip[None, None], 5, stride=1, padding=2)[0, 0]
        spread = strip - smooth  # grows
        if float(spread.abs().amax()) > 0.15:
            self.blotch_count += 1
            self.blotches.add(spread, index)  # keeps

    def page(self):
        course = self.course.mean_index(30)
        blotches = self.blotches.mean_index(10)
        return f"formation {course:+.3f}  at blotches {blotches:+.3f}"


def main():
    torch.set_num_threads(1)
    watch = WireWatch()
    start = time.monotonic()
    next_line = start + 2.0
    rounds = 0
    while time.monotonic() - start < SECONDS:
        begun = time.monotonic()
        watch.round()
        rounds += 1
        if begun >= next_line:
            next_line += 3.0
            print(f"{begun - start:6.1f} s  strip {rounds}  {watch.page()}", flush=True)
        spent = time.monotonic() - begun
        time.sleep(max(0.005, 1.0 / ROUNDS_PER_SECOND - spent))
    print(f"{rounds} strips, {watch.blotch_count} with blotches, index {watch.indices:+.3f}", flush=True)


if __name__ == "__main__":
    main()
