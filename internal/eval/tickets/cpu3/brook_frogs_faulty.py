"""Listens to a brook for the calls of frogs. The sound comes in hops of a few frames, and a small streaming transformer
looks at each hop together with what came before it: every layer remembers its keys and values, so that nothing is
computed twice. A call is reported when its score passes the threshold.

ticket: practice
class: host-growth
holder: keys values StreamingAttention
cause: buffer-without-bound
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

BANDS, WIDTH, HEADS, LAYERS, HOP = 64, 384, 6, 3, 64
FROGS = "common frog", "moor frog", "tree frog", "midwife toad"


class StreamingAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.keys = self.values = torch.empty(HEADS, 0, WIDTH // HEADS)

    def forward(self, frames):
        query, key, value = self.project(frames).view(HOP, 3, HEADS, -1).permute(1, 2, 0, 3)
        self.keys = torch.cat([self.keys, key], dim=1)  # grows keeps
        self.values = torch.cat([self.values, value], dim=1)  # grows keeps
        mixed = F.scaled_dot_product_attention(query[None], self.keys[None], self.values[None])[0]
        return self.out(mixed.transpose(0, 1).reshape(HOP, WIDTH))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = StreamingAttention()
        self.feed = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))
        self.before, self.after = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, frames):
        frames = frames + self.attention(self.before(frames))
        return frames + self.feed(self.after(frames))


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.bands = nn.Linear(BANDS, WIDTH)
        self.layers = nn.Sequential(*(Layer() for _ in range(LAYERS)))
        self.frogs = nn.Linear(WIDTH, len(FROGS))

    def forward(self, hop):
        return self.frogs(self.layers(self.bands(hop))).mean(dim=0)


def brook():
    """Hops of the spectrogram: the water murmurs, and a frog calls in its band now and then."""
    while True:
        hop = torch.randn(HOP, BANDS).abs() * torch.linspace(1.5, 0.5, BANDS)
        if random.random() < 0.2:
            band, start = random.randrange(BANDS - 4), random.randrange(HOP // 2)
            hop[start : start + HOP // 4, band : band + 4] += 3
        yield hop.log1p()


@torch.inference_mode()
def main():
    torch.set_num_threads(1)
    listener, calls = Listener().eval(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for number, hop in enumerate(brook(), 1):
        scores = listener(hop).softmax(dim=0)
        score, frog = scores.max(dim=0)
        calls += score.item() > 0.35
        if number % 20 == 0:
            print(f"hop {number}: {calls} calls, the last like a {FROGS[frog.item()]} ({score.item():.2f})", flush=True)
        if time.time() > end:
            break
        time.sleep(random.uniform(0.04, 0.12))


if __name__ == "__main__":
    main()
