"""Each request waits for its answer or for the end of all, a future that lives as long as the
program, and leaves its callback there.

ticket: pnbruckner/ha-life360#101
class: host-growth
holder: shutdown
cause: callbacks-left futures-kept
"""

import asyncio
import functools
import os
import time

END = time.time() + float(os.environ.get("SECONDS", "40"))


class Coordinator:
    def __init__(self, loop):
        self.loop = loop
        self.shutdown = loop.create_future()

    async def request(self, n):
        payload = bytearray(os.urandom(40_000))
        stop = functools.partial(self.stopped, payload)
        self.shutdown.add_done_callback(stop)  # grows
        await asyncio.sleep(0.01)
        self.last = n
        return len(payload)

    def stopped(self, payload, future):
        payload.clear()


async def main():
    coordinator = Coordinator(asyncio.get_running_loop())
    n = 0
    while time.time() < END:
        n += 1
        await coordinator.request(n)


asyncio.run(main())
