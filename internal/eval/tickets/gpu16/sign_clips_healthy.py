"""A service reads sign language from clips and writes down the signs. Each clip is answered in a task of its own; as
asyncio itself holds its tasks only weakly, so that one might vanish halfway, the service holds them in a set until
they are done. Beside the signs, the answer has what the network made of the frames, out of which the next best signs
can be told when somebody asks for them.

ticket: practice
class: none
"""

import asyncio
import os
import random
import time
from dataclasses import dataclass

import torch
from torch import nn

JOINTS, WIDTH, SIGNS, LAYERS, LENGTHS = 54, 512, 400, 4, (96, 160, 256)


@dataclass
class Answer:
    signs: list
    states: torch.Tensor


class Reader(nn.Module):
    """Places of hands and face, frame by frame, to signs."""

    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(2 * JOINTS, WIDTH)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(WIDTH, 8, WIDTH, batch_first=True)
                                    for _ in range(LAYERS))
        self.name = nn.Linear(WIDTH, SIGNS)

    def forward(self, clip):
        found, states = self.enter(clip.flatten(-2))[None], []
        for layer in self.layers:
            found = layer(found)
            states.append(found[0])
        return self.name(found[0]), torch.stack(states)


class Service:
    def __init__(self, device):
        self.device, self.reader = device, Reader().to(device).eval()
        self.tasks, self.turn = set(), asyncio.Semaphore(2)

    @torch.inference_mode()
    def read(self, clip):
        chances, states = self.reader(clip.to(self.device))
        best = chances.argmax(-1).tolist()
        return Answer([sign for sign, before in zip(best, [None] + best) if sign != before], states)

    async def answer(self, clip):
        async with self.turn:
            return await asyncio.to_thread(self.read, clip)

    def submit(self, clip):
        task = asyncio.create_task(self.answer(clip))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    def others(self, answer, count=3):
        """The next best signs of the frames, for somebody who is not content."""
        with torch.inference_mode():
            return self.reader.name(answer.states[-1]).mean(0).topk(count + 1).indices[1:].tolist()


async def client(service, end, counts):
    """Films somebody who signs, and sends clip by clip."""
    place, skill = torch.randn(JOINTS, 2), random.uniform(0.02, 0.1)
    while time.time() < end:
        moves = skill * torch.randn(random.choice(LENGTHS), JOINTS, 2)
        answer = await service.submit(place + moves.cumsum(0))
        counts["clips"] += 1
        counts["signs"] += len(answer.signs)
        if random.random() < 0.1:
            counts["asked"] += len(service.others(answer)) > 0
        await asyncio.sleep(random.uniform(0.3, 1.2))


async def serve():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    service, counts = Service(device), {"clips": 0, "signs": 0, "asked": 0}
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    clients = [asyncio.create_task(client(service, end, counts)) for _ in range(4)]
    while time.time() < end:
        await asyncio.sleep(2)
        print(counts, flush=True)
    await asyncio.gather(*clients)


if __name__ == "__main__":
    asyncio.run(serve())
