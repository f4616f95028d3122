"""A server captions live speech for many clients at once. The state of a client, on the device, is dropped when its
task ends, in whatever way; the last chunks of audio of all are kept on the host for a complaint that might come.

ticket: practice
class: none
"""

import asyncio
import collections
import logging
import os
import random
import time
import uuid

import numpy as np
import torch
from torch import nn

log = logging.getLogger("captions")


class Captioner(nn.Module):
    def __init__(self, width=384):
        super().__init__()
        self.cell = nn.GRUCell(160, width)
        self.words = nn.Linear(width, 300)
        self.width = width

    def start(self, device):
        return {"hidden": torch.zeros(1, self.width, device=device),
                "context": torch.zeros(400, self.width, device=device)}

    def forward(self, state, frames):
        for frame in frames:
            state["hidden"] = self.cell(frame[None], state["hidden"])
        state["context"] = state["context"].roll(1, 0)
        state["context"][0] = state["hidden"][0]
        return self.words(state["hidden"] + state["context"][:8].mean(0)).argmax().item()


class CaptionServer:
    def __init__(self, device):
        self.device, self.model = device, Captioner().to(device).eval()
        self.clients, self.seen = {}, 0
        self.chunks = collections.deque(maxlen=400)

    async def listen(self, name, feed):
        self.clients[name] = self.model.start(self.device)
        self.seen += 1
        words = []
        try:
            async for chunk in feed:
                self.chunks.append(chunk)
                words.append(self.caption(name, chunk))
        finally:
            del self.clients[name]
        return words

    @torch.inference_mode()
    def caption(self, name, chunk):
        frames = torch.from_numpy(chunk).to(self.device).float().view(-1, 160) / 32768
        return self.model(self.clients[name], frames)


async def feed(seconds):
    """Chunks of a fifth of a second; some connections are lost in the middle."""
    lost = random.random() < 0.6
    for _ in range(int(seconds * 5)):
        yield np.random.randint(-3000, 3000, 3200, dtype=np.int16)
        await asyncio.sleep(0.2)
        if lost and random.random() < 0.1:
            raise ConnectionResetError("peer is gone")


async def serve(server, end):
    running = set()
    while time.time() < end:
        task = asyncio.create_task(server.listen(uuid.uuid4().hex, feed(random.uniform(1, 4))))
        running.add(task)
        task.add_done_callback(lambda done: (running.discard(done), done.cancelled() or done.exception()))
        if server.seen % 20 == 19:
            log.info("%d clients seen, %d talk", server.seen, len(running))
        await asyncio.sleep(random.choice([0.05, 0.2, 0.2, 0.6]))
    await asyncio.gather(*running, return_exceptions=True)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    captions = CaptionServer("cuda" if torch.cuda.is_available() else "cpu")
    asyncio.run(serve(captions, time.time() + float(os.environ.get("SECONDS", "45"))))
