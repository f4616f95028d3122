"""A lahar flows down a valley. Only its front is computed finely, on square patches that are laid anew as it goes on.
The memory of the patches is allocated with the CUDA runtime and not by PyTorch, as the sediment code of the institute
takes raw pointers; PyTorch sees it through the array interface.

ticket: practice
class: none
"""

import os
import random
import time

import torch

VALLEY, FINE, STEPS_BETWEEN = 96, 32, 4
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cuda":
    from cuda.bindings import runtime


class View:
    def __init__(self, pointer, shape):
        self.__cuda_array_interface__ = {"shape": shape, "typestr": "<f4", "data": (pointer, False), "version": 3}


class Patches:
    """The depths, speeds and sediment of so many fine patches, in memory that other codes may address."""

    def __init__(self, count):
        self.shape = (count, 3, FINE, FINE)
        if DEVICE == "cuda":
            size = 4 * count * 3 * FINE * FINE
            status, self.pointer = runtime.cudaMalloc(size)
            if status != runtime.cudaError_t.cudaSuccess:
                raise MemoryError(status)
            self.fields = torch.as_tensor(View(int(self.pointer), self.shape), device="cuda").zero_()
        else:
            self.fields = torch.zeros(self.shape)

    def free(self):
        self.fields = None
        if DEVICE == "cuda":
            runtime.cudaFree(self.pointer)


class Lahar:
    def __init__(self):
        self.depth = torch.zeros(VALLEY, VALLEY, device=DEVICE)
        self.bed = torch.linspace(30, 0, VALLEY, device=DEVICE)[:, None] + torch.rand(VALLEY, VALLEY, device=DEVICE)
        self.corners = torch.zeros(0, 2, dtype=torch.long, device=DEVICE)
        self.patches = Patches(1)

    def flow(self):
        """A coarse step: mud goes on to the next row, and spreads to the sides."""
        self.depth[0, VALLEY // 3 : VALLEY // 2] += 0.4 * random.random()
        slope = (self.bed[:-1] + self.depth[:-1] - self.bed[1:] - self.depth[1:]).clamp(min=0)
        moved = torch.minimum(self.depth[:-1], 0.1 * slope)
        self.depth[:-1] -= moved
        self.depth[1:] += moved
        aside = 0.1 * (self.depth.roll(1, 1) + self.depth.roll(-1, 1) - 2 * self.depth)
        self.depth = 0.995 * (self.depth + aside)

    def regrid(self):
        """Lays fine patches where the surface is roughest now."""
        rough = self.depth.diff(dim=0)[:, :-1].abs() + self.depth.diff(dim=1)[:-1].abs()
        count = random.randint(150, 220)
        places = rough.flatten().topk(count).indices
        self.corners = torch.stack([places // rough.shape[1], places % rough.shape[1]], dim=-1)
        self.patches.free()
        self.patches = Patches(count)
        self.patches.fields[:, 0] = self.depth[self.corners[:, 0], self.corners[:, 1]][:, None, None]

    def refine(self):
        """A fine step on all patches, which gives its mean depths back to the valley."""
        fields = self.patches.fields
        depth, speed, sediment = fields.unbind(dim=1)
        speed += 0.05 * (depth - depth.roll(1, -1)) - 0.02 * speed
        sediment += 0.01 * speed.abs() * (1 - sediment)
        depth -= 0.05 * (speed - speed.roll(-1, -1))
        self.depth[self.corners[:, 0], self.corners[:, 1]] = depth.mean(dim=(-1, -2)).clamp(min=0)


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    lahar, step = Lahar(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        lahar.flow()
        if step % STEPS_BETWEEN == 0:
            lahar.regrid()
        lahar.refine()
        step += 1
        if step % 40 == 0:
            front = (lahar.depth.amax(dim=1) > 0.01).sum().item()
            print(f"step {step}: the front is at row {front}, {len(lahar.corners)} patches", flush=True)
        time.sleep(0.06)
    lahar.patches.free()


if __name__ == "__main__":
    main()
