"""Lays the plates of a sky survey over one another.

The survey camera drifts over the sky; each plate overlaps the one before it and
is turned by a little against it.  A plate is flattened, its sky taken away, and
put where the device can look up its brightness between the pixels.  Plate
and forerunner are then both drawn onto the sheet of the chart, each in its own
turn and shift, and where both have light they are compared: the mean
difference tells how well the two are set in brightness, and the chart gets
their mean.

ticket: practice
class: driver-growth
holder: samplers
cause: driver-memory-kept cache-without-bound
"""
import math
import os
import time

import cupy as cp
import numpy as np
from cupy.cuda import runtime, texture

HIGH, WIDE = 2048, 1536
PACE = 0.45

DRAW = cp.RawKernel(r"""
extern "C" __global__
void draw(float* sheet, cudaTextureObject_t plate, int high, int wide,
          float cosine, float sine, float right, float down)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= wide || y >= high)
        return;
    float u = x - 0.5f * wide + right;
    float v = y - 0.5f * high + down;
    float column = cosine * u - sine * v + 0.5f * wide + 0.5f;
    float row = sine * u + cosine * v + 0.5f * high + 0.5f;
    sheet[y * wide + x] = tex2D<float>(plate, column, row);
}
""", "draw")


class Camera:
    """Plates as they come from the telescope: stars, sky and uneven lighting."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        stars = np.zeros((HIGH, WIDE), np.float32)
        places = (self.rng.integers(0, HIGH, 4000), self.rng.integers(0, WIDE, 4000))
        stars[places] = self.rng.exponential(50.0, 4000)
        self.stars = cp.asarray(stars)
        slope = np.linspace(0.9, 1.1, WIDE, dtype=np.float32)
        self.lighting = cp.asarray(np.broadcast_to(slope, (HIGH, WIDE)).copy())

    def plate(self):
        sky = float(self.rng.uniform(8.0, 12.0))
        noise = cp.random.standard_normal((HIGH, WIDE), dtype=cp.float32)
        return (self.stars + sky + noise) * self.lighting


def sampler(plate):
    """Lets a kernel read the plate between its pixels, with nothing beyond the edges."""
    channel = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
    store = texture.CUDAarray(channel, WIDE, HIGH)  # grows
    store.copy_from(plate)
    resource = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=store)
    border = runtime.cudaAddressModeBorder
    reading = texture.TextureDescriptor((border, border), runtime.cudaFilterModeLinear,
                                        runtime.cudaReadModeElementType)
    return texture.TextureObject(resource, reading)


class Chart:
    """The chart's sheet, and the plates by their number in the survey."""

    def __init__(self, lighting):
        self.lighting = lighting
        self.samplers = {}
        self.sheet = cp.zeros((HIGH, WIDE), cp.float32)
        self.upper = cp.empty((HIGH, WIDE), cp.float32)
        self.lower = cp.empty((HIGH, WIDE), cp.float32)

    def draw(self, target, number, angle, right, down):
        block = (32, 8)
        grid = ((WIDE + block[0] - 1) // block[0], (HIGH + block[1] - 1) // block[1])
        arguments = (target, self.samplers[number], np.int32(HIGH), np.int32(WIDE),
                     np.float32(math.cos(angle)), np.float32(math.sin(angle)),
                     np.float32(right), np.float32(down))
        DRAW(grid, block, arguments)

    def take(self, number, plate):
        flat = plate / self.lighting
        flat -= flat.mean()
        self.samplers[number] = sampler(flat)  # keeps

    def join(self, number):
        """Draw the plate and its forerunner; gives their mean difference where both have light."""
        angle = 0.002 * (number % 9 - 4)
        self.draw(self.upper, number, angle, right=40.0, down=0.0)
        self.draw(self.lower, number - 1, -angle, right=-40.0, down=0.0)
        both = (self.upper != 0.0) & (self.lower != 0.0)
        difference = cp.where(both, self.upper - self.lower, 0.0)
        self.sheet *= 0.8
        self.sheet += 0.1 * (self.upper + self.lower)
        offset = float(difference.sum()) / max(1, int(both.sum()))
        return offset


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    camera = Camera(seed=88)
    chart = Chart(camera.lighting)
    chart.take(0, camera.plate())

    number = 1
    next_plate = time.time()
    while time.time() < deadline:
        chart.take(number, camera.plate())
        difference = chart.join(number)
        if number % 10 == 0:
            print(f"plate {number}: set off from its forerunner by {difference:+.4f}, "
                  f"brightest place of the sheet {float(chart.sheet.max()):.1f}", flush=True)
        number += 1
        next_plate += PACE
        time.sleep(max(0.0, next_plate - time.time()))

    print(f"{number} plates laid", flush=True)


if __name__ == "__main__":
    main()
