"""Robots fetch goods in a warehouse. For each order, the way is planned on the device: the distance to the shelf is
spread over the floor plan, and the robot goes downhill from where it stands. Orders do not wait for each other, for
they are planned in four streams by turns, and a way is taken from the device when its stream is through.

ticket: practice
class: none
"""

import os
import random
import time

import cupy as cp
import numpy as np

SIDE, ROUNDS, FAR, LANES = 512, 60, 1e6, 4
OFFSETS = (-1, 0), (1, 0), (0, -1), (0, 1)


def floor_plan():
    """Shelves in long rows with aisles between them. Some places are slow, as people walk there."""
    plan = np.ones((SIDE, SIDE), np.float32)
    plan[8:-8:4, 8:-8] = FAR
    plan[:, ::32] = 1
    plan += 3 * (np.random.rand(SIDE, SIDE) > 0.9)
    return plan.astype(np.float32)


class Planner:
    def __init__(self, plan):
        self.plan = cp.asarray(plan)
        self.streams = [cp.cuda.Stream(non_blocking=True) for _ in range(LANES)]
        cp.cuda.Device().synchronize()

    def stream_of(self, order):
        return self.streams[order % LANES]

    def spread(self, shelf, reach):
        """The distances to the shelf, as far as the rounds reach."""
        distances = cp.full((SIDE, SIDE), FAR, cp.float32)
        distances[shelf] = 0
        for _ in range(reach):
            edged = cp.pad(distances, 1, constant_values=FAR)
            nearest = cp.minimum(edged[:-2, 1:-1], edged[2:, 1:-1])
            nearest = cp.minimum(nearest, edged[1:-1, :-2])
            nearest = cp.minimum(nearest, edged[1:-1, 2:])
            distances = cp.minimum(distances, nearest + self.plan)
        return distances

    def plan_order(self, order, start, shelf):
        stream = self.stream_of(order)
        with stream:
            distances = self.spread(shelf, ROUNDS)
            field = cp.asnumpy(distances)
        stream.synchronize()
        return downhill(field, start)


def downhill(field, place):
    way = [place]
    while field[place] > 0:
        row, column = place
        steps = [((row + r) % SIDE, (column + c) % SIDE) for r, c in OFFSETS]
        best = min(steps, key=lambda step: field[step])
        if field[best] >= field[place]:
            break
        place = best
        way.append(place)
    return way


def orders():
    """The shelves and the robots near them, which come in bursts after a lorry has arrived."""
    while True:
        for _ in range(random.randint(2, 6)):
            row, column = random.randrange(40, SIDE - 40), random.randrange(40, SIDE - 40)
            yield (row + random.randint(-20, 20), column + random.randint(-20, 20)), (row, column)
            time.sleep(random.uniform(0.1, 0.25))
        time.sleep(random.uniform(0.2, 0.5))


def main():
    planner, steps = Planner(floor_plan()), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for order, (start, shelf) in enumerate(orders()):
        steps += len(planner.plan_order(order, start, shelf))
        if order % 20 == 19:
            print(f"{order + 1} orders, {steps / (order + 1):.1f} steps each", flush=True)
        if time.time() > end:
            break


if __name__ == "__main__":
    main()
