"""A ship looks under its keel: a sonar with eight channels sends pings whose records are as long as the water is deep.
Records pass through pinned memory to the GPU, where a Triton kernel takes their size and makes up for the spreading
loss. The strongest echo of the mean of the channels gives the depth.

ticket: practice
class: none
"""

import os
import random
import time

import numpy as np
import torch
from torch.nn import functional as F

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

CHANNELS, SHORTEST, LONGEST = 8, 20_000, 60_000
RATE, SOUND, SPREAD, BLOCK = 40_000.0, 1_500.0, 0.8, 1024
CUDA = torch.cuda.is_available()

if triton is not None:

    @triton.jit(do_not_specialize=["count", "length"])
    def gain_kernel(record, out, count, length, spread, BLOCK: tl.constexpr):
        place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = place < count
        age = 1.0 + (place % length).to(tl.float32)
        value = tl.load(record + place, mask=inside, other=0.0)
        tl.store(out + place, tl.abs(value) * tl.exp(spread * tl.log(age)), mask=inside)


def gain(record):
    """The size of a record, each sample made up for its age."""
    count, length = record.numel(), record.shape[1]
    if triton is None or not record.is_cuda:
        age = torch.arange(1, length + 1, device=record.device, dtype=record.dtype)
        return record.abs() * age**SPREAD
    out = torch.empty_like(record)
    gain_kernel[(triton.cdiv(count, BLOCK),)](record, out, count, length, SPREAD, BLOCK=BLOCK)
    return out


class Staging:
    """Pinned memory between the sonar and the GPU."""

    def __init__(self, device):
        self.device = device
        self.buffer = torch.empty(CHANNELS * LONGEST, pin_memory=CUDA)

    def upload(self, record):
        buffer = self.buffer[: record.size].view(record.shape)
        buffer.copy_(torch.from_numpy(record))
        return buffer.to(self.device, non_blocking=True)


def ping(rng, depth):
    """The record of one ping, with an echo from the ground."""
    length = min(max(int(depth * 2.4 / SOUND * RATE), SHORTEST), LONGEST)
    record = 1e-4 * rng.standard_normal((CHANNELS, length), dtype=np.float32)
    echo = min(int(depth * 2 / SOUND * RATE), length - 64)
    record[:, echo : echo + 64] += 20.0 / (1 + echo)
    return record


def main():
    torch.set_num_threads(1)
    device = "cuda" if CUDA else "cpu"
    staging, rng, pings = Staging(device), np.random.default_rng(7), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        depth = random.uniform(330.0, 920.0)
        loud = gain(staging.upload(ping(rng, depth))).mean(dim=0)
        smooth = F.avg_pool1d(loud[None, None], 65, stride=1, padding=32)
        found = smooth.argmax().item() / RATE * SOUND / 2
        pings += 1
        if pings % 40 == 0:
            print(f"ping {pings}: depth {found:.1f} m of {depth:.1f} m", flush=True)
        time.sleep(random.uniform(0.05, 0.13))


if __name__ == "__main__":
    main()
