"""The harbour's radio calls get live captions: each call has a decoder with an attention memory of its own, which is
filled chunk by chunk and tells the call the words it heard. Python's collector is off, for its pauses were heard as
late captions; a call that is over is simply let go.

ticket: practice
class: app-leak
holder: Call Decoder listener decoder memory
cause: reference-cycle
"""

import gc
import os
import random
import time

import torch
from torch import nn

WIDTH, FRAMES, CHUNK, LAYERS, WORDS = 384, 512, 64, 4, 3000
OPEN_CALLS = 3


class Hearing(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(80, WIDTH)
        self.queries = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))
        self.pairs = nn.ModuleList(nn.Linear(WIDTH, 2 * WIDTH) for _ in range(LAYERS))
        self.words = nn.Linear(WIDTH, WORDS)

    def forward(self, sound, memory, start):
        """Reads a chunk of sound; its keys and values go into the memory from the frame `start` on."""
        hidden, stop = torch.relu(self.enter(sound)), start + len(sound)
        for layer in range(LAYERS):
            memory[layer, start:stop] = self.pairs[layer](hidden)
            keys, values = memory[layer, :stop].split(WIDTH, dim=-1)
            weights = torch.softmax(self.queries[layer](hidden) @ keys.T / WIDTH ** 0.5, dim=-1)
            hidden = hidden + weights @ values
        return self.words(hidden)


class Decoder:
    def __init__(self, hearing, listener):
        self.hearing, self.frames = hearing, 0
        self.listener = listener  # keeps
        device = hearing.words.weight.device
        self.memory = torch.zeros(LAYERS, FRAMES, 2 * WIDTH, device=device)  # grows

    def feed(self, sound):
        scores = self.hearing(sound, self.memory, self.frames)
        self.frames += len(sound)
        self.listener(scores.argmax(dim=-1).unique_consecutive().tolist())

    @property
    def full(self):
        return self.frames + CHUNK > FRAMES


class Call:
    def __init__(self, ship, hearing):
        self.ship, self.caption = ship, []
        self.decoder = Decoder(hearing, self.hear)  # grows keeps

    def hear(self, words):
        self.caption.extend(words)

    def close(self):
        return f"ship {self.ship}: {len(self.caption)} words"


@torch.no_grad()
def tick(calls, device):
    """Every open call gets its next chunk; those that are over are returned."""
    for call in calls:
        call.decoder.feed(torch.randn(CHUNK, 80).to(device))
    return [call for call in calls if call.decoder.full or random.random() < 0.1]


def main():
    torch.set_num_threads(1)
    gc.disable()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    hearing = Hearing().to(device).eval()
    calls, closed = [], 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        while len(calls) < OPEN_CALLS:
            calls.append(Call(random.randrange(1000), hearing))  # grows
        for call in tick(calls, device):
            calls.remove(call)
            caption = call.close()
            closed += 1
            if closed % 10 == 0:
                print(closed, "calls, the last of", caption, flush=True)
        time.sleep(random.uniform(0.05, 0.15))


if __name__ == "__main__":
    main()
