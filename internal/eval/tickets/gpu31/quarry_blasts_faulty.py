"""A scheduler of inversions: the time at which the shock of a quarry blast arrives at each point of the rock is found
by sweeps on a grid. Urgent jobs come first. A job that does not settle is tried once more with heavier damping. What
went wrong is counted by reason for the shift's report, which also quotes the last failure of each reason.

ticket: practice
class: app-leak
holder: failures
cause: tracebacks-kept exception-kept
"""

import heapq
import itertools
import os
import random
import time
from collections import defaultdict
from dataclasses import dataclass, field

import torch
from torch.nn import functional as F

SIZE, SWEEPS = 768, 24


class Failed(Exception):
    def __init__(self, reason, job, sweep):
        super().__init__(f"{job.name}: {reason} at sweep {sweep}")
        self.reason = reason


@dataclass(order=True)
class Job:
    priority: int
    number: int
    name: str = field(compare=False)
    damping: float = field(compare=False, default=0.1)
    tries: int = field(compare=False, default=0)


def solve(job, device):
    """The latest arrival of the shock in the grid."""
    slowness = 0.5 + torch.rand(SIZE, SIZE, device=device)  # grows
    times = torch.full((SIZE, SIZE), 1e3, device=device)
    times[SIZE // 2, SIZE // 2] = 0
    for sweep in range(SWEEPS):
        nearest = -F.max_pool2d(-times[None, None], 3, stride=1, padding=1)[0, 0]  # grows
        update = torch.minimum(times, nearest + slowness)  # grows
        change = (update - times).abs().mean().item()
        times = job.damping * times + (1 - job.damping) * update  # grows
        if sweep > 4 and random.random() < 0.04 / (1 + 4 * job.damping):
            raise Failed(random.choice(["unstable", "shadow zone"]), job, sweep)
        if change < 1e-6:
            break
    return times[times < 1e3 - 1].max().item()


class Scheduler:
    def __init__(self, device):
        self.device = device
        self.jobs, self.numbers = [], itertools.count()
        self.done, self.failures = 0, defaultdict(list)

    def submit(self, priority):
        number = next(self.numbers)
        heapq.heappush(self.jobs, Job(priority, number, f"blast-{number:04d}"))

    def step(self):
        job = heapq.heappop(self.jobs)
        job.tries += 1
        try:
            latest = solve(job, self.device)
        except Failed as failure:
            self.failures[failure.reason].append(failure)  # keeps
            if job.tries < 2:
                job.damping *= 3
                heapq.heappush(self.jobs, job)
        else:
            self.done += 1
            return latest

    def report(self):
        lines = [f"{self.done} done"]
        for reason, failures in sorted(self.failures.items()):
            lines.append(f"{len(failures)} {reason} (last {failures[-1]})")
        return ", ".join(lines)


def main():
    torch.set_num_threads(1)
    scheduler = Scheduler("cuda" if torch.cuda.is_available() else "cpu")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    shown = time.time()
    while time.time() < end:
        while len(scheduler.jobs) < 6:
            scheduler.submit(random.choice([1, 2, 2, 3]))
        scheduler.step()
        if time.time() - shown > 4:
            print(scheduler.report(), flush=True)
            shown = time.time()
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
