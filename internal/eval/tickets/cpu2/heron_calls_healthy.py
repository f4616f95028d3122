"""Cameras at heron nests hang on one gateway. The station asks them over a single connection to compare the nest
with the picture it sends; many requests are on their way at a time, and the gateway's answers carry the request's
number. A camera that sleeps does not answer: after a short while the request is given up, and the nest is asked
again in the next round.

ticket: practice
class: none
"""

import asyncio
import itertools
import os
import random
import struct
import time
from dataclasses import dataclass

HEAD = struct.Struct("!IHI")  # number, nest, bytes that follow
ANSWER = struct.Struct("!If")
NESTS = 24


@dataclass
class Request:
    nest: int
    frame: bytes
    answer: asyncio.Future


class Station:
    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.numbers = itertools.count(1)
        self.pending = {}
        self.sleeping = 0
        self.listener = asyncio.create_task(self.listen())

    async def listen(self):
        while True:
            try:
                number, motion = ANSWER.unpack(await self.reader.readexactly(ANSWER.size))
            except asyncio.IncompleteReadError:
                return
            request = self.pending.pop(number, None)
            if request and not request.answer.done():
                request.answer.set_result(motion)

    async def ask(self, nest, picture, patience=0.25):
        number = next(self.numbers)
        frame = HEAD.pack(number, nest, len(picture)) + picture
        request = Request(nest, frame, asyncio.get_running_loop().create_future())
        self.pending[number] = request
        self.writer.write(request.frame)
        await self.writer.drain()
        try:
            return await asyncio.wait_for(request.answer, patience)
        except asyncio.TimeoutError:
            self.sleeping += 1
            return None
        finally:
            self.pending.pop(number, None)


async def gateway(reader, writer):
    """Passes the pictures on to the cameras, of which some sleep."""
    asleep = set()
    while True:
        try:
            number, nest, size = HEAD.unpack(await reader.readexactly(HEAD.size))
            picture = await reader.readexactly(size)
        except asyncio.IncompleteReadError:
            break
        if random.random() < 0.1:
            asleep = set(random.sample(range(NESTS), random.randint(6, 14)))
        if nest not in asleep:
            writer.write(ANSWER.pack(number, sum(picture[::97]) / max(1, size)))
            await writer.drain()
    writer.close()


async def main():
    server = await asyncio.start_server(gateway, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    station, rounds = Station(reader, writer), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        pictures = [os.urandom(random.randint(90_000, 150_000)) for _ in range(NESTS)]
        motions = await asyncio.gather(*(station.ask(nest, picture) for nest, picture in enumerate(pictures)))
        rounds += 1
        if rounds % 10 == 0:
            awake = [motion for motion in motions if motion is not None]
            print(f"round {rounds}: {len(awake)} awake, {station.sleeping} requests given up", flush=True)
        await asyncio.sleep(random.uniform(0.05, 0.2))
    writer.close()
    await station.listener
    server.close()


if __name__ == "__main__":
    asyncio.run(main())
