"""A pipeline for video stays loaded and serves prompt after prompt. The layers that look at the text keep its keys and
values for all steps of the sampler, under the number of the prompt, and drop them when the video is done.

ticket: kijai/ComfyUI-WanVideoWrapper#2044
class: none
"""

import itertools
import os
import random
import time

import torch
from torch import nn


class TextAttention(nn.Module):
    """Attention of the frames to the text of the prompt."""

    def __init__(self, width, text_width, heads=4):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key, self.value = nn.Linear(text_width, width), nn.Linear(text_width, width)
        self.out = nn.Linear(width, width)
        self.text_cache = {}

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, text, number):
        if number not in self.text_cache:
            key, value = self.split(self.key(text)), self.split(self.value(text))
            self.text_cache[number] = key, value
        key, value = self.text_cache[number]
        seen = nn.functional.scaled_dot_product_attention(self.split(self.query(x)), key, value)
        return x + self.out(seen.transpose(1, 2).flatten(2))


class Transformer(nn.Module):
    def __init__(self, width=256, text_width=192, depth=8):
        super().__init__()
        self.attentions = nn.ModuleList(TextAttention(width, text_width) for _ in range(depth))
        self.mlps = nn.ModuleList(nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
                                  for _ in range(depth))

    def forward(self, x, text, number):
        for attention, mlp in zip(self.attentions, self.mlps):
            x = attention(x, text, number)
            x = x + mlp(nn.functional.layer_norm(x, x.shape[-1:]))
        return x


class Pipeline:
    def __init__(self, device):
        self.device = device
        self.numbers = itertools.count()
        self.words = nn.Embedding(5000, 192).to(device)
        self.transformer = Transformer().to(device).eval()

    @torch.inference_mode()
    def __call__(self, prompt, steps):
        number = next(self.numbers)
        text = self.words(prompt.to(self.device))[None]
        x = torch.randn(1, 128, 256, device=self.device)
        for step in range(steps):
            x = x - 0.1 * self.transformer(x, text, number) / (1 + step)
            time.sleep(0.02)
        for attention in self.transformer.attentions:
            attention.text_cache.pop(number)
        return x.mean(1).cpu()


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    pipeline = Pipeline("cuda" if torch.cuda.is_available() else "cpu")
    for served in itertools.count(1):
        if time.time() > end:
            break
        video = pipeline(torch.randint(5000, (random.choice((256, 384, 512)),)), random.randint(12, 20))
        if served % 10 == 0:
            print(served, "videos", float(video.abs().mean()), flush=True)
        time.sleep(random.uniform(0, 0.4))


if __name__ == "__main__":
    main()
