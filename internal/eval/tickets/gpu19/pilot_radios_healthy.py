"""What pilots and the tower say by radio is written down. Messages come in any length; two threads decode them. What
the decoder needs (keys and values of what was said, room for its scores) depends on how many frames there are; it
is made for one of a few lengths, and each thread keeps the two that it used last, since making it takes a while.

ticket: QuintinShaw/openasr#51
class: none
"""

import collections
import concurrent.futures
import os
import random
import threading
import time

import torch
from torch import nn

BANDS, WIDTH, LAYERS, WORDS = 40, 192, 4, 400
SHORTEST, LONGEST, LENGTHS, KEPT = 60, 600, (200, 400, 600), 2

local = threading.local()


class DecoderRuntime:
    """All the room for one message of so many frames."""

    def __init__(self, frames, device):
        self.frames = frames
        self.keys = torch.zeros(LAYERS, frames, WIDTH, device=device)
        self.values = torch.zeros(LAYERS, frames, WIDTH, device=device)
        self.scores = torch.zeros(LAYERS, frames, device=device)


def with_runtime(frames, device):
    """A runtime of this thread with room for so many frames."""
    room = next(length for length in LENGTHS if length >= frames)
    if not hasattr(local, "runtimes"):
        local.runtimes = collections.OrderedDict()
    if room not in local.runtimes:
        local.runtimes[room] = DecoderRuntime(room, device)
        if len(local.runtimes) > KEPT:
            local.runtimes.popitem(last=False)
    local.runtimes.move_to_end(room)
    return local.runtimes[room]


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.listen = nn.Sequential(nn.Linear(BANDS, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH))
        self.key, self.value = nn.Linear(WIDTH, LAYERS * WIDTH), nn.Linear(WIDTH, LAYERS * WIDTH)
        self.words, self.say = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WORDS)

    @torch.no_grad()
    def write(self, sound):
        frames = len(sound)
        runtime = with_runtime(frames, sound.device)
        heard = self.listen(sound)
        runtime.keys[:, :frames] = self.key(heard).view(frames, LAYERS, WIDTH).transpose(0, 1)
        runtime.values[:, :frames] = self.value(heard).view(frames, LAYERS, WIDTH).transpose(0, 1)
        word, written = torch.zeros((), dtype=torch.long, device=sound.device), []
        for _ in range(random.randint(6, 18)):
            x = self.words(word)
            for layer in range(LAYERS):
                scores = runtime.scores[layer, :frames]
                torch.mv(runtime.keys[layer, :frames], x / WIDTH ** 0.5, out=scores)
                x = x + scores.softmax(0) @ runtime.values[layer, :frames]
            word = self.say(x).argmax()
            written.append(word)
        return torch.stack(written).tolist()


def message(device):
    """A message of some length: mostly some seconds, rarely more."""
    frames = int(min(LONGEST, max(SHORTEST, random.triangular(SHORTEST, LONGEST, 300))))
    return torch.randn(frames, BANDS, device=device)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    writer, messages, words = Writer().to(device).eval(), 0, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        while time.time() < end:
            burst = [message(device) for _ in range(random.randint(1, 4))]
            for written in pool.map(writer.write, burst):
                messages, words = messages + 1, words + len(written)
            if random.random() < 0.1:
                print("messages", messages, "words", words, "last", written[:4], flush=True)
            time.sleep(random.uniform(0.15, 0.5))


if __name__ == "__main__":
    main()
