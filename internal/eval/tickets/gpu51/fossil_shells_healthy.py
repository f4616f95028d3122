"""Line up the slices of a CT scan of fossil shells. Each slice is bound to a texture, because the texture unit samples
between pixels for nothing. A kernel turns and shifts the slice through its texture, the candidates are compared with
the slice before, which is sampled through its own texture, and the best shift goes on.

ticket: practice
class: none
"""

import itertools
import os
import random
import time

import cupy as cp
from cupy.cuda import runtime, texture

SIZE = 1024
SHIFTS = (-2.0, -1.0, 0.0, 1.0, 2.0)
SHELLS = 14
BLOCK = (32, 8)
BLOCKS = (SIZE // BLOCK[0], SIZE // BLOCK[1])

sample = cp.RawKernel(r"""
extern "C" __global__
void sample(cudaTextureObject_t slice, float* out, int size, float dx, float dy) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < size && y < size)
        out[y * size + x] = tex2D<float>(slice, x + 0.5f + dx, y + 0.5f + dy);
}
""", "sample")

channel = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
mode = texture.TextureDescriptor(
    (runtime.cudaAddressModeClamp, runtime.cudaAddressModeClamp),
    runtime.cudaFilterModeLinear,
    runtime.cudaReadModeElementType,
)

rows, columns = cp.mgrid[:SIZE, :SIZE].astype(cp.float32)
shells = [(random.uniform(150, SIZE - 150), random.uniform(150, SIZE - 150), random.uniform(20, 60))
          for _ in range(SHELLS)]
moved, before = cp.empty((SIZE, SIZE), cp.float32), cp.empty((SIZE, SIZE), cp.float32)


def scan(number):
    """The next slice: rings of shells whose radius goes up and down, and the table is never quite still."""
    dx, dy = random.choice(SHIFTS), random.choice(SHIFTS)
    image = 0.05 * cp.random.standard_normal((SIZE, SIZE), dtype=cp.float32)
    for row, column, radius in shells:
        radius = radius * (1 + 0.2 * (number % 50) / 50)
        away = cp.sqrt((rows - row - dy) ** 2 + (columns - column - dx) ** 2)
        image += cp.exp(-((away - radius) / 4) ** 2)
    return image


def bind(image):
    array = texture.CUDAarray(channel, SIZE, SIZE)
    array.copy_from(image)
    return texture.TextureObject(texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array), mode)


def turn(slice_texture, out, dx, dy):
    sample(BLOCKS, BLOCK, (slice_texture, out, cp.int32(SIZE), cp.float32(dx), cp.float32(dy)))
    return out


textures = {0: bind(scan(0))}
drift = {"x": 0.0, "y": 0.0}
end = time.time() + float(os.environ.get("SECONDS", "45"))
for number in itertools.count(1):
    if time.time() > end:
        break
    textures[number] = bind(scan(number))
    turn(textures.pop(number - 1), before, drift["x"], drift["y"])

    losses = {}
    for dx, dy in itertools.product(SHIFTS, SHIFTS):
        turn(textures[number], moved, dx, dy)
        losses[dx, dy] = float(cp.square(moved - before).mean())
    best = min(losses, key=losses.get)
    drift["x"], drift["y"] = best

    if number % 20 == 0:
        print(f"slice {number}: shift {best}, loss {losses[best]:.4f}, worst {max(losses.values()):.4f}", flush=True)
    time.sleep(random.uniform(0.1, 0.2))

print(number, "slices lined up")
