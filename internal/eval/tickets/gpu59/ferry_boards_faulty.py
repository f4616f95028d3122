"""Live crowding maps for the boards on the ferry piers. The hub runs the crowd model ten times a second and pushes each
frame, as bytes, to the boards that are connected. Boards come and go: the harbour's Wi-Fi is poor, so most connections
end with a reset after some seconds, and the board connects again.

ticket: practice
class: host-growth
holder: Hub boards queue Queue
cause: unbounded-queue buffer-without-bound
"""

import asyncio
import itertools
import os
import random
import time
from dataclasses import dataclass, field

import torch
import torch.nn as nn

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
HEIGHT, WIDTH = 360, 640
FRAMES_PER_SECOND = 10
PIERS = "north", "mill", "customs", "lighthouse"


class CrowdModel(nn.Module):
    """From a coarse grid of turnstile counts to a map of the pier."""
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.ReLU(),
            nn.Upsample(size=(HEIGHT, WIDTH), mode="bilinear", align_corners=False),
            nn.Conv2d(8, 1, 3, padding=1), nn.Sigmoid())

    @torch.no_grad()
    def render(self, counts):
        return self.net(counts.to(DEVICE))[0, 0].cpu().numpy().tobytes()  # grows


@dataclass
class Hub:
    model: CrowdModel
    boards: dict = field(default_factory=dict)
    sent: int = 0
    resets: int = 0

    def subscribe(self, connection_id):
        queue = asyncio.Queue()
        self.boards[connection_id] = queue
        return queue

    def unsubscribe(self, connection_id):
        self.boards.pop(connection_id, None)

    async def broadcast(self):
        while True:
            frame = self.model.render(torch.rand(1, 1, 18, 32))
            for queue in self.boards.values():
                queue.put_nowait(frame)  # keeps
            await asyncio.sleep(1 / FRAMES_PER_SECOND)


class Socket:
    """Stands for the WebSocket of one board."""

    def __init__(self):
        self.frames_until_reset = random.randint(5, 40)

    async def send_bytes(self, data):
        self.frames_until_reset -= 1
        if self.frames_until_reset <= 0:
            raise ConnectionResetError("connection lost")
        await asyncio.sleep(len(data) / 200e6)


async def serve(hub, connection_id, socket, closing):
    queue = hub.subscribe(connection_id)
    while not closing.is_set():
        await socket.send_bytes(await queue.get())
        hub.sent += 1
    hub.unsubscribe(connection_id)


async def board(hub, pier, closing, ids):
    while not closing.is_set():
        try:
            await serve(hub, f"{pier}-{next(ids)}", Socket(), closing)
        except ConnectionResetError:
            hub.resets += 1
            await asyncio.sleep(random.uniform(0.1, 0.5))


async def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    hub, closing, ids = Hub(CrowdModel().to(DEVICE).eval()), asyncio.Event(), itertools.count()
    tasks = [asyncio.create_task(board(hub, pier, closing, ids)) for pier in PIERS]
    broadcaster = asyncio.create_task(hub.broadcast())
    while time.time() < end:
        await asyncio.sleep(min(3.0, max(0.0, end - time.time())))
        print(f"{hub.sent} frames sent, {hub.resets} resets", flush=True)
    closing.set()
    await asyncio.gather(*tasks)
    broadcaster.cancel()


asyncio.run(main())
