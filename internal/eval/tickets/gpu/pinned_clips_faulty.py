"""Clips of any length and size are copied to the device through pinned staging buffers. One buffer
is kept for each shape, and nearly each clip has a new shape.

ticket: vllm-project/vllm#48165
class: host-growth
holder: staging
cause: pinned-staging cache-without-bound
"""

import os
import random
import time

import numpy as np
import torch

torch.set_num_threads(1)
END = time.time() + float(os.environ.get("SECONDS", "40"))
device = "cuda" if torch.cuda.is_available() else "cpu"
draw = np.random.default_rng(2)


class Uploader:
    def __init__(self):
        self.staging = {}

    def pinned(self, *shape):
        return torch.empty(*shape, pin_memory=device == "cuda")  # grows

    def upload(self, clip):
        if clip.shape not in self.staging:
            self.staging[clip.shape] = self.pinned(clip.shape)  # grows
        buffer = self.staging[clip.shape]
        buffer.copy_(torch.from_numpy(clip))
        return buffer.to(device, non_blocking=True)


def clip():
    """The frames of one request; each has its own number and size of them."""
    frames, side = random.randint(4, 12), random.randint(14, 24) * 14
    return draw.random((frames, 3, side, side + 14 * random.randint(0, 6)), dtype="float32")


model = torch.nn.Conv2d(3, 16, 14, 14).to(device).eval()
uploader = Uploader()
done = 0
with torch.inference_mode():
    while time.time() < END:
        for _ in range(random.choice((1, 1, 2, 5))):
            answer = model(uploader.upload(clip())).mean().item()
            done += 1
            time.sleep(0.2)
        if done % 40 < 2:
            print("requests", done, len(uploader.staging), answer, flush=True)
        time.sleep(random.uniform(0.3, 1.2))
