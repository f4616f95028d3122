"""Block supervision of a large model railway.

Cameras above the layout watch the hidden yards, where the trains cannot be seen by the visitors. When a train
leaves a block, the supervisor takes a picture of what it left behind and sets an alarm for the case that the
train does not show up in the next block; the operator then sees the picture. Trains that arrive are greeted
with their running time.

ticket: practice
class: app-leak
holder: alarms
cause: timers-left
"""
import os
import random
import sched
import time

import torch
import torch.nn.functional as F

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 12
TRAINS = 30
BLOCKS = 64
OVERDUE_SECONDS = 900.0
VIEW_HEIGHT, VIEW_WIDTH = 256, 512


class YardCameras:
    """Renders the view of a block from the plan of the layout."""

    def __init__(self, seed: int):
        generator = torch.Generator().manual_seed(seed)
        plan = torch.rand(BLOCKS, 3, VIEW_HEIGHT // 4, VIEW_WIDTH // 4, generator=generator)
        self._plan = plan.to(DEVICE)
        self._grey = torch.tensor([0.299, 0.587, 0.114], device=DEVICE).view(3, 1, 1)
        self.pictures = 0

    def picture(self, block: int, lamp: float) -> torch.Tensor:
        self.pictures += 1
        small = (self._plan[block] * self._grey).sum(dim=0) * lamp
        return F.interpolate(small[None, None], scale_factor=4.0, mode="bilinear")[0, 0]  # grows


class Train:
    """A train on its way from block to block."""

    def __init__(self, number: int, chooser: random.Random):
        self.number = number
        self.block = number * 2
        self.speed = chooser.uniform(0.8, 1.4)
        self.left_at = 0.0
        self.alarm: sched.Event | None = None


class BlockSupervisor:
    """Follows the trains and warns the operator of those that stay away."""

    def __init__(self, cameras: YardCameras):
        self.cameras = cameras
        self.alarms = sched.scheduler(time.monotonic, time.sleep)
        self.running_times: list[float] = []
        self.arrivals = 0
        self.warnings = 0
        self.brightness = 0.0

    def departed(self, train: Train, lamp: float) -> None:
        view = self.cameras.picture(train.block, lamp)
        self.brightness = 0.9 * self.brightness + 0.1 * view.mean().item()
        train.left_at = time.monotonic()
        train.alarm = self.alarms.enter(  # keeps
            OVERDUE_SECONDS, 1, self._overdue, argument=(train.number, train.block, view)  # keeps
        )

    def arrived(self, train: Train) -> None:
        self.arrivals += 1
        self.running_times.append((time.monotonic() - train.left_at) * train.speed)
        train.alarm = None
        train.block = (train.block + 1) % BLOCKS

    def _overdue(self, number: int, block: int, view: torch.Tensor) -> None:
        self.warnings += 1
        dark = (view < 0.1).float().mean().item()
        print(f"train {number} overdue after block {block}, {dark:.0%} of the view is dark", flush=True)

    def tick(self) -> None:
        self.alarms.run(blocking=False)

    def report(self) -> str:
        mean_time = sum(self.running_times) / max(1, len(self.running_times))
        self.running_times.clear()
        return (f"{self.arrivals} arrivals, mean running time {mean_time:.2f} s, "
                f"brightness {self.brightness:.3f}, {self.warnings} warnings")


def main() -> None:
    torch.set_num_threads(1)
    chooser = random.Random(51)
    supervisor = BlockSupervisor(YardCameras(seed=52))
    trains = [Train(number, chooser) for number in range(TRAINS)]
    started = time.monotonic()
    due = started
    next_report = started + 3.0
    rounds = 0
    while time.monotonic() - started < SECONDS:
        supervisor.tick()
        train = trains[rounds % TRAINS]
        if train.alarm is not None:
            supervisor.arrived(train)
        supervisor.departed(train, lamp=chooser.uniform(0.7, 1.0))
        rounds += 1
        if time.monotonic() >= next_report:
            print(supervisor.report(), flush=True)
            next_report += 3.0
        due += 1.0 / ROUNDS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"layout closed: {supervisor.report()}", flush=True)


if __name__ == "__main__":
    main()
