"""A desk with visitors, each of whom stays for one to twelve seconds. What is known of one is there until the visit ends.

ticket: practice
class: none
"""
import asyncio
import os
import random
import time

import numpy as np

SECONDS = float(os.environ.get("SECONDS", "120"))
rng = random.Random(5)


def stay():
    return rng.uniform(1.0, 12.0)


class Desk:
    def __init__(self):
        self.open = {}
        self.number = 0

    async def visit(self):
        self.number += 1
        number = self.number
        self.open[number] = np.ones(1 << 16)
        await asyncio.sleep(stay())
        self.open.pop(number, None)


async def main():
    desk, visits, begun = Desk(), set(), time.monotonic()
    while time.monotonic() - begun < SECONDS:
        visit = asyncio.create_task(desk.visit())
        visits.add(visit)
        visit.add_done_callback(visits.discard)
        await asyncio.sleep(0.08)


asyncio.run(main())
