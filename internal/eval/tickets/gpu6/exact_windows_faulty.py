"""Windows of signals are smoothed and scaled with a kernel of Triton. The length of the window is a constant of the
kernel, so that the compiler can unroll it; each length that comes is compiled, and what is compiled is kept.

ticket: triton-lang/triton#9263
class: host-growth
holder: device_caches cache kernel_cache
cause: per-shape-compile-cache compiled-functions-kept compile-cache
"""

import os
import random
import time

import torch

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

BLOCK = 256

if triton is not None:
    @triton.jit
    def smooth_kernel(source, target, total, LENGTH: tl.constexpr, BLOCK_SIZE: tl.constexpr):
        at = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
        start = at // LENGTH * LENGTH
        sums = tl.zeros((BLOCK_SIZE,), tl.float32)
        for offset in range(-3, 4):
            near = at + offset
            inside = (near >= start) & (near < start + LENGTH) & (near < total)
            sums += tl.load(source + near, mask=inside, other=0.0)
        tl.store(target + at, sums / 7.0, mask=at < total)


def smooth(windows):
    """Means over seven neighbours in the same window."""
    if not windows.is_cuda or triton is None:
        return torch.nn.functional.avg_pool1d(windows[:, None], 7, 1, 3)[:, 0]
    target, total = torch.empty_like(windows), windows.numel()
    blocks = (triton.cdiv(total, BLOCK),)
    smooth_kernel[blocks](windows, target, total, windows.shape[1], BLOCK)  # grows
    return target


class Monitor:
    def __init__(self, device):
        self.device, self.windows, self.alarms = device, 0, 0
        self.level = torch.zeros((), device=device)

    def take(self, batch):
        smoothed = smooth(batch)
        peak = smoothed.abs().amax(1)
        self.level += 0.05 * (peak.mean() - self.level)
        self.windows += len(batch)
        self.alarms += int((peak > 2.2 * self.level).sum())


def batches(device, end):
    while time.time() < end:
        length = random.randint(400, 24000)
        yield torch.randn(random.choice([2, 4, 8]), length, device=device).cumsum(1)
        time.sleep(random.uniform(0.05, 0.3))


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    monitor, count = Monitor("cuda" if torch.cuda.is_available() else "cpu"), 0
    for batch in batches(monitor.device, end):
        monitor.take(batch)
        count += 1
        if count % 40 == 0:
            print(monitor.windows, "windows,", monitor.alarms, "alarms", flush=True)


if __name__ == "__main__":
    main()
