"""Design studio for flounces of bobbin lace that get deeper course by course.

The draft of a flounce is a bed of pin holes: one row for each row of pins, one column for each place along
the hem. Ground and gimp threads are laid over the bed, the pull at every hole is weighed, and the draft is
judged by how even the pull is. A course takes the longer the deeper the flounce is already; then the
flounce is deepened by a band of rows and drafted on.

ticket: practice
class: pool-growth
holder: -
cause: outgrown-blocks
"""
import math
import os
import time

import torch

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDS_PER_SECOND = 8
PLACES = 16384
BAND = 32
FIRST_ROWS = 8 * BAND
DEEPEST_ROWS = 48 * BAND
ROWS_PER_ROUND = 16
THREADS = 24
ROWS_PER_CM = 14.0


class Threads:
    """Phases and weights of the ground threads, with a gimp that wanders through them."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.along = torch.linspace(0.0, 2.0 * math.pi, PLACES, device=DEVICE)
        self.counts = torch.randint(3, 60, (THREADS,), generator=self.generator, device=DEVICE).float()

    def hem_line(self):
        phases = torch.rand(THREADS, generator=self.generator, device=DEVICE) * 2.0 * math.pi
        waves = torch.sin(torch.outer(self.counts, self.along) + phases.unsqueeze(1))
        return waves.mean(dim=0)

    def row_pull(self, rows):
        depth = torch.arange(rows, device=DEVICE, dtype=torch.float32) / DEEPEST_ROWS
        slack = torch.rand(rows, generator=self.generator, device=DEVICE)
        return torch.exp(-depth) + 0.1 * slack


class Flounce:
    """A flounce in the making: its depth, the courses worked and how even it came out."""

    def __init__(self, threads):
        self.threads = threads
        self.rows = FIRST_ROWS
        self.courses = 0
        self.worked = 0
        self.evenness = 0.0
        self.best = math.inf

    def new_bed(self):
        return torch.empty(self.rows, PLACES, device=DEVICE)  # grows

    def draft(self):
        bed = self.new_bed()
        torch.mul(self.threads.row_pull(self.rows).unsqueeze(1), self.threads.hem_line(), out=bed)
        bed.abs_()
        across = bed.mean(dim=1)
        along = bed.mean(dim=0)
        self.evenness = float(across.std() + along.std())
        self.best = min(self.best, self.evenness)

    def depth_cm(self):
        return self.rows / ROWS_PER_CM

    def work(self):
        self.worked += ROWS_PER_ROUND
        if self.worked >= self.rows:
            self.worked = 0
            self.courses += 1
            self.rows = min(DEEPEST_ROWS, self.rows + BAND)


def main():
    torch.set_num_threads(1)
    flounce = Flounce(Threads(seed=63))
    started = time.monotonic()
    rounds = 0
    while time.monotonic() - started < SECONDS:
        flounce.draft()
        flounce.work()
        rounds += 1
        if rounds % (3 * ROUNDS_PER_SECOND) == 0:
            print(f"round {rounds:5d}  depth {flounce.depth_cm():5.1f} cm  courses {flounce.courses:3d}  "
                  f"evenness {flounce.evenness:.4f}  best {flounce.best:.4f}", flush=True)
        due = started + rounds / ROUNDS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"studio closed: {flounce.courses} courses, {flounce.depth_cm():.1f} cm deep, "
          f"best {flounce.best:.4f}", flush=True)


if __name__ == "__main__":
    main()
