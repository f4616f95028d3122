"""A bridge simulator on which harbour pilots practise.

Trainees come to the simulator over the day, each for a short approach: the school gives them a
seat with a strip of the chart, a radar picture that builds up sweep by sweep, and the state of
their ship. The ship is a set of simple equations for heading, rate of turn and speed, and the
trainee here is a controller that steers at a leading line, well or less well. At the end of the
approach there is a mark. Several approaches go on at the same time, as tasks of one event loop.

ticket: practice
class: host-growth
holder: aboard Trainee
cause: sessions-kept
"""
import asyncio
import itertools
import math
import os
import time
from statistics import mean

import torch

CHART = 224
SWEEPS = 12
SWEEP_SECONDS = 0.15
COMING_SECONDS = 0.22


class Trainee:
    """What the school has about someone at a seat."""

    def __init__(self, callsign, chart, skill, source):
        self.callsign = callsign
        self.skill = skill
        shift = int(torch.randint(0, CHART, (), generator=source))
        self.strip = chart.roll(shift, dims=1) * (0.8 + 0.2 * skill)  # grows
        self.radar = torch.full((2, CHART, CHART), 0.01)  # grows
        self.ship = torch.tensor([-4.0, 0.6, 0.3, 0.0, 9.0])
        self.offsets = []

    def steer(self):
        """Rudder from the distance to the leading line and from the heading."""
        _, across, heading, turning, _ = self.ship.tolist()
        wish = -1.2 * across * self.skill - 1.5 * heading - 2.0 * turning
        return max(-0.6, min(0.6, wish))

    def mark(self):
        rough = mean(abs(offset) for offset in self.offsets) if self.offsets else 1.0
        return round(max(0.0, 10 - 12 * rough), 1)


def move(ship, rudder, current, minutes=0.4):
    along, across, heading, turning, knots = ship.unbind()
    turning = turning + (0.9 * rudder - 0.8 * turning) * minutes
    heading = heading + turning * minutes
    miles = knots / 60 * minutes * 4
    return torch.stack([along + miles * heading.cos(), across + miles * heading.sin() + current * minutes,
                        heading, turning, knots * (1 - 0.02 * abs(rudder))])


def sweep(trainee, clutter):
    """One turn of the antenna: the shore lines as seen from the ship, fading in with the old picture."""
    along, across = trainee.ship[:2].tolist()
    seen = trainee.strip.roll((int(across * 20), int(along * 8)), dims=(1, 2))
    echo = (seen[:2] - seen[1:3]).abs() + clutter * torch.rand(2, CHART, CHART)
    trainee.radar.mul_(0.7).add_(echo, alpha=0.3)


class School:
    def __init__(self, seed):
        self.source = torch.Generator().manual_seed(seed)
        axis = torch.linspace(0, 6 * math.pi, CHART)
        depth = torch.sin(axis)[:, None] + torch.cos(0.7 * axis)[None, :]
        self.chart = torch.stack([depth, (depth > 0.4).float(), depth.abs().sqrt()])
        self.aboard = {}
        self.marks = []

    def welcome(self, number):
        skill = 0.3 + 0.7 * float(torch.rand((), generator=self.source))
        trainee = Trainee(f"P{number:04d}", self.chart, skill, self.source)
        self.aboard[trainee.callsign] = trainee  # keeps
        return trainee

    def farewell(self, trainee):
        self.marks = (self.marks + [trainee.mark()])[-40:]

    async def approach(self, number):
        trainee = self.welcome(number)
        try:
            for minute in range(SWEEPS):
                current = 0.03 * math.sin(minute / 3)
                trainee.ship = move(trainee.ship, trainee.steer(), current)
                trainee.offsets.append(float(trainee.ship[1]))
                sweep(trainee, clutter=0.05)
                await asyncio.sleep(SWEEP_SECONDS)
        finally:
            self.farewell(trainee)

    def best_aboard(self):
        return max(self.aboard.values(), key=Trainee.mark, default=None)


async def day(end):
    school, tasks, said = School(seed=12), set(), time.time()
    for number in itertools.count(1):
        task = asyncio.create_task(school.approach(number))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        await asyncio.sleep(COMING_SECONDS)
        if time.time() - said > 3.5:
            said, best = time.time(), school.best_aboard()
            print(f"{number} trainees, {len(tasks)} at their seats, mean mark {mean(school.marks or [0]):.1f}, "
                  f"best {best.callsign if best else '-'}", flush=True)
        if time.time() > end:
            break
    for task in tasks:
        task.cancel()


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    asyncio.run(day(end))


if __name__ == "__main__":
    main()
