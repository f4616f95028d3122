"""A taxi office takes down its calls by machine. The sound of a call comes in chunks; a convolutional encoder turns
them into features, the last seconds of which are the context for the words that are read off. A caller who is still
on the line after four hours is cut off.

ticket: practice
class: none
"""

import asyncio
import os
import random
import time

import torch
from torch import nn

CHUNK, WIDTH, SPAN, WORDS, LINES = 1600, 256, 1024, 800, 5
LONGEST = 4 * 60 * 60


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv1d(1, 64, 16, stride=8), nn.GELU(), nn.Conv1d(64, WIDTH, 4, stride=2, padding=1), nn.GELU()
        )
        self.query = nn.Parameter(torch.randn(WIDTH) / WIDTH)
        self.words = nn.Linear(WIDTH, WORDS)

    def read(self, context):
        weights = (self.query @ context).softmax(-1)
        return self.words(context @ weights).argmax().item()


class Call:
    def __init__(self, number, device):
        self.number = number
        self.context = torch.zeros(WIDTH, SPAN, device=device)
        self.words = []
        self.over = False
        self.timer = None


class Office:
    def __init__(self, device):
        self.device, self.model = device, Listener().to(device).eval()
        self.calls, self.taken, self.ended = {}, 0, 0

    def pick_up(self):
        self.taken += 1
        call = self.calls[self.taken] = Call(self.taken, self.device)
        call.timer = asyncio.get_running_loop().call_later(LONGEST, self.cut_off, call)
        return call

    def cut_off(self, call):
        call.over = True

    @torch.inference_mode()
    def hear(self, call, sound):
        features = self.model.encoder(sound.to(self.device)[None, None])[0]
        call.context = torch.cat([call.context[:, features.shape[1] :], features], dim=1)
        call.words.append(self.model.read(call.context))

    def hang_up(self, call):
        del self.calls[call.number]
        call.timer.cancel()
        self.ended += 1
        return " ".join(f"w{word}" for word in call.words[-5:])


async def line(office, end):
    """One telephone line: callers one after another."""
    while time.time() < end:
        call = office.pick_up()
        for _ in range(random.randint(5, 14)):
            if call.over:
                break
            office.hear(call, torch.randn(CHUNK))
            await asyncio.sleep(0.1)
        words = office.hang_up(call)
        if call.number % 10 == 0:
            print(f"call {call.number}: ... {words} ({len(office.calls)} on the line)", flush=True)
        await asyncio.sleep(random.uniform(0.05, 0.4))


async def serve(device):
    office = Office(device)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    await asyncio.gather(*(line(office, end) for _ in range(LINES)))
    print(office.ended, "calls ended")


def main():
    torch.set_num_threads(1)
    asyncio.run(serve("cuda" if torch.cuda.is_available() else "cpu"))


if __name__ == "__main__":
    main()
