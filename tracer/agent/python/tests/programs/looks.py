"""What looks for holders cost a program with many objects, on the processor.

A loop of small steps keeps so many objects, one of ten with an array, and gets one more
in twenty steps. Booked are the processor time of each look, on the agent's thread and on
the program's, and the longest of the loop's steps, with looks and without.

Usage: looks.py OBJECTS SECONDS
"""

import sys
import time

import gpumem_agent
import numpy
import torch  # its agent asks for graphs, too

OBJECTS, SECONDS = int(sys.argv[1]), float(sys.argv[2])


class Record:
    def __init__(self, number):
        self.number, self.tags = number, {"even": number % 2 == 0}
        self.array = numpy.zeros(512) if number % 10 == 0 else None


agent = gpumem_agent.agent()
costs, under_way = {}, []  # seconds of looks by kind; and whether there is one


def book(owner, name):
    method, costs[name] = getattr(owner, name), []

    def timed(*args):
        under_way.append(name)
        begun = time.thread_time()
        try:
            return method(*args)
        finally:
            costs[name].append(time.thread_time() - begun)
            under_way.append("")

    setattr(owner, name, timed)


def main():
    records = [Record(n) for n in range(OBJECTS)]
    state = torch.zeros(64, 64)
    book(agent.surveys, "look_now")
    book(agent.surveys, "look_below")
    steps, beside, alone, begun = 0, [0.0], [0.0], time.perf_counter()
    while time.perf_counter() - begun < SECONDS:
        before, looks = time.perf_counter(), len(under_way)
        state = (state @ state).clamp(-1, 1)
        steps += 1
        if steps % 20 == 0:
            records.append(Record(len(records)))
        taken = time.perf_counter() - before
        is_beside = len(under_way) > looks or looks and under_way[looks - 1]
        (beside if is_beside else alone).append(taken)
        time.sleep(0.001)
    wall = time.perf_counter() - begun
    for name, kind in (("look_now", "looks"), ("look_below", "graphs")):
        share, longest = 100 * sum(costs[name]) / wall, 1000 * max(costs[name], default=0)
        print("%s longest-of-%s-ms %s-%%" % (kind, kind, kind), len(costs[name]), longest, share)
    print("objects longest-step-beside-ms longest-step-alone-ms", len(records), 1000 * max(beside), 1000 * max(alone))


main()
