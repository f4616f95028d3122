"""Judging aid for figure skating at an ice rink.

A camera over the ice gives the paths of a skater's joints. Each routine is split into elements (jumps, spins, steps),
and every element is marked against the whole of its routine, for its height and its speed. A panel then shows the
marks of the last routines.

ticket: practice
class: app-leak
holder: routine elements
cause: reference-cycle
"""
import collections
import gc
import os
import time

import torch

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))

JOINTS = 24
SAMPLES = 7200
ELEMENTS = 9
ROUTINES_PER_SECOND = 4
PANEL = 12
KINDS = ("jump", "spin", "steps")


class Element:
    """A stretch of a routine that gets a mark of its own."""

    def __init__(self, routine, kind, first, last):
        self.routine = routine  # keeps
        self.kind = kind
        self.first = first
        self.last = last
        self.mark = 0.0

    def path(self):
        return self.routine.paths[:, self.first:self.last]

    def judge(self):
        """Mark the element against the means of the routine."""
        path = self.path()
        height = path[..., 2].amax(1).mean() - self.routine.mean_height
        speed = (path[:, 1:] - path[:, :-1]).norm(dim=-1).mean() / self.routine.mean_speed
        if self.kind == "jump":
            value = 4.0 + 1.5 * height
        elif self.kind == "spin":
            value = 3.0 + 2.0 * (2.0 - speed).abs()
        else:
            value = 2.5 + 2.5 * speed
        self.mark = float(value.clamp(0.0, 10.0))


class Routine:
    """Paths of the joints over one routine, with the elements found in it."""

    def __init__(self, skater, paths):
        self.skater = skater
        self.paths = paths
        self.mean_height = paths[..., 2].mean()
        self.mean_speed = (paths[:, 1:] - paths[:, :-1]).norm(dim=-1).mean()
        self.elements = []

    def split(self, borders):
        """Cut the routine at the borders, kinds in turn."""
        for index, (first, last) in enumerate(zip(borders, borders[1:])):
            self.elements.append(Element(self, KINDS[index % len(KINDS)], first, last))  # keeps

    def total(self):
        return sum(element.mark for element in self.elements)


class RinkCamera:
    """Joint paths of one skater after the other."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.dice = torch.Generator().manual_seed(seed)
        time_axis = torch.linspace(0.0, 60.0, SAMPLES, device=DEVICE)
        self.swing = torch.stack((time_axis.sin(), time_axis.cos(), (3.0 * time_axis).sin().clamp(min=0.0)), -1)

    def film(self):
        steps = torch.randn(JOINTS, SAMPLES, 3, device=DEVICE, generator=self.generator)
        return steps.mul_(0.02).cumsum_(1).add_(self.swing)  # grows

    def borders(self):
        inner = torch.randperm(SAMPLES // 100 - 2, generator=self.dice)[: ELEMENTS - 1] + 1
        return [0] + sorted((inner * 100).tolist()) + [SAMPLES]


class Panel:
    """Marks of the last routines, best of the day."""

    def __init__(self):
        self.recent = collections.deque(maxlen=PANEL)
        self.best = (0.0, -1)
        self.shown = 0

    def show(self, routine):
        total = routine.total()
        self.recent.append((routine.skater, total))
        self.best = max(self.best, (total, routine.skater))
        self.shown += 1


def judge_routine(camera, panel, skater):
    routine = Routine(skater, camera.film())
    routine.split(camera.borders())
    for element in routine.elements:
        element.judge()
    panel.show(routine)


def main():
    gc.disable()                 # even pace of the camera
    camera = RinkCamera(seed=41)
    panel = Panel()
    begin = time.monotonic()
    next_print = begin + 3.0
    while time.monotonic() - begin < SECONDS:
        started = time.monotonic()
        judge_routine(camera, panel, panel.shown)
        if started >= next_print:
            mean = sum(total for _, total in panel.recent) / len(panel.recent)
            print(f"routines {panel.shown}  recent mean {mean:.2f}  best {panel.best[0]:.2f}", flush=True)
            next_print += 3.0
        time.sleep(max(0.005, 1.0 / ROUTINES_PER_SECOND - (time.monotonic() - started)))
    print(f"competition over: {panel.shown} routines, best {panel.best[0]:.2f} by {panel.best[1]}", flush=True)


if __name__ == "__main__":
    main()
