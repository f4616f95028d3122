"""The horizon record of a fire tower.

The lookout's camera turns all day and writes a short descriptor of every bearing into the season's record. Each
round the record is compared with the known smoke and cloud shapes: the shapes seen most often become the backdrop
of the day, and a bearing that resembles smoke more than anything else is called out to the dispatcher.

ticket: practice
class: none
"""
import os
import time

import torch
import torch.nn.functional as F

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 4
FEATURES = 64
SHAPES = 4096
SMOKE_SHAPES = 256
EARLIER_DAYS = 6144
CAPACITY = 10240
BEARINGS_PER_ROUND = 8


class Camera:
    """Descriptors of the bearings that the camera passes in one round."""

    def __init__(self, shapes, generator):
        self.shapes = shapes
        self.generator = generator

    def sweep(self, count):
        chosen = torch.randint(0, SHAPES, (count,), device=DEVICE, generator=self.generator)
        blur = 0.4 * torch.randn(count, FEATURES, device=DEVICE, generator=self.generator)
        return F.normalize(self.shapes[chosen] + blur, dim=1)


class HorizonRecord:
    """Descriptors in the order in which they came; the oldest make room when the table is full."""

    def __init__(self, capacity):
        self.capacity = capacity
        self._rows = torch.zeros(capacity, FEATURES, device=DEVICE)
        self.written = 0

    def __len__(self):
        return min(self.written, self.capacity)

    def write(self, rows):
        places = (torch.arange(len(rows), device=DEVICE) + self.written) % self.capacity
        self._rows[places] = rows
        self.written += len(rows)

    def rows(self):
        return self._rows[:len(self)]

    def latest(self, count):
        return [place % self.capacity for place in range(self.written - count, self.written)]


class ShapeMatcher:
    """Likeness of each row of the record to each known shape."""

    def __init__(self, shapes, capacity):
        self._shapes = shapes.t().contiguous()
        self._scores = torch.empty(capacity, SHAPES, device=DEVICE)
        self.threshold = 0.25

    def match(self, record):
        rows = record.rows()
        scores = torch.mm(rows, self._shapes, out=self._scores[:len(rows)])
        likeness, shape = scores.max(dim=1)
        prevalence = scores.mean(dim=0)
        return likeness, shape, prevalence


class Lookout:
    """Calls out the fresh bearings that look like smoke."""

    def __init__(self, record, matcher):
        self.record = record
        self.matcher = matcher
        self.backdrop = torch.zeros(SHAPES, device=DEVICE)
        self.calls = 0

    def look(self, fresh):
        self.record.write(fresh)
        likeness, shape, prevalence = self.matcher.match(self.record)
        self.backdrop.lerp_(prevalence, 0.05)
        places = torch.tensor(self.record.latest(len(fresh)), device=DEVICE)
        smoke = (shape[places] < SMOKE_SHAPES) & (likeness[places] > self.matcher.threshold)
        self.calls += int(smoke.sum())
        return float(likeness.mean())

    def common_shapes(self, count=3):
        return self.backdrop.topk(count).indices.tolist()


def main():
    torch.set_num_threads(1)
    generator = torch.Generator(device=DEVICE).manual_seed(29)
    shapes = F.normalize(torch.randn(SHAPES, FEATURES, device=DEVICE, generator=generator), dim=1)
    camera = Camera(shapes, generator)
    record = HorizonRecord(CAPACITY)
    record.write(camera.sweep(EARLIER_DAYS))
    lookout = Lookout(record, ShapeMatcher(shapes, CAPACITY))
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        likeness = lookout.look(camera.sweep(BEARINGS_PER_ROUND))
        rounds += 1
        if rounds % (3 * ROUNDS_PER_SECOND) == 0:
            print(f"round {rounds}: likeness {likeness:.3f}, backdrop {lookout.common_shapes()}, "
                  f"{lookout.calls} calls", flush=True)
        time.sleep(max(0.0, start + rounds / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"dusk: {rounds} rounds, {len(record)} bearings on record, {lookout.calls} calls", flush=True)


if __name__ == "__main__":
    main()
