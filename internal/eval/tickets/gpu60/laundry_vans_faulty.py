"""Plans the rounds of laundry vans. Depots ask at any time; each request becomes a task, so that a slow depot does not
hold up the others. The driving times between all stops are relaxed on the GPU over shared junctions, a greedy round
goes through them, and the plan is sent to the depot.

ticket: practice
class: host-growth
holder: tasks Office office
cause: futures-kept
"""

import asyncio
import os
import random
import time
from dataclasses import dataclass

import numpy as np
import torch

STOPS, JUNCTIONS = 480, 64
DEPOTS = "Harrogate", "Skipton", "Ilkley"


@dataclass
class Plan:
    depot: str
    times: np.ndarray
    order: list

    @property
    def minutes(self):
        return float(self.times[self.order[:-1], self.order[1:]].sum())


class Roads:
    """The driving times between stops: straight, or by way of a junction if that is faster."""

    def __init__(self, device):
        self.device = device
        self.junctions = torch.rand(JUNCTIONS, 2, device=device) * 40

    @torch.no_grad()
    def times(self, stops):
        stops = stops.to(self.device)
        straight = torch.cdist(stops, stops) * 2.2
        to_junction = torch.cdist(stops, self.junctions) * 1.3
        best = straight
        for junction in range(JUNCTIONS):
            by_way = to_junction[:, junction, None] + to_junction[None, :, junction]
            best = torch.minimum(best, by_way)
        return best.cpu().numpy()  # grows


def greedy(times):
    """A round that always goes to the nearest stop that is left."""
    left, order = np.ones(len(times), dtype=bool), [0]
    left[0] = False
    while left.any():
        following = int(np.where(left, times[order[-1]], np.inf).argmin())
        left[following] = False
        order.append(following)
    return order


class Office:
    def __init__(self, roads):
        self.roads = roads
        self.tasks = set()
        self.sent, self.minutes = 0, 0.0

    def request(self, depot, stops):
        # The event loop itself holds a task only weakly.
        task = asyncio.create_task(self.plan(depot, stops))
        self.tasks.add(task)  # keeps
        task.add_done_callback(self.send)

    async def plan(self, depot, stops):
        times = self.roads.times(stops)
        await asyncio.sleep(0)
        return Plan(depot, times, greedy(times))

    def send(self, task):
        plan = task.result()
        self.sent += 1
        self.minutes += plan.minutes
        if self.sent % 25 == 0:
            mean = self.minutes / self.sent
            print(f"{self.sent} plans, the last to {plan.depot}, {mean:.0f} minutes each", flush=True)


async def depot(name, office, end):
    await asyncio.sleep(random.uniform(0, 0.3))
    while time.time() < end:
        office.request(name, torch.rand(STOPS, 2) * 40)
        await asyncio.sleep(random.uniform(0.15, 0.35))


async def serve():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    office = Office(Roads(device))
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    await asyncio.gather(*(depot(name, office, end) for name in DEPOTS))
    await asyncio.sleep(0.2)
    print(f"closed after {office.sent} plans")


if __name__ == "__main__":
    torch.set_num_threads(1)
    asyncio.run(serve())
