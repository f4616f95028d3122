"""A battery cell is watched in a tomograph while it charges. The volume of each scan is put into a texture, so that
the hardware interpolates between its voxels, and is projected at many angles; what differs from the radiographs of the
detector is spread back, and the corrected volume is the guess for the next scan.

ticket: practice
class: none
"""

import math
import os
import time

import cupy
import numpy
from cupy.cuda import runtime
from cupy.cuda.texture import ChannelFormatDescriptor, CUDAarray, ResourceDescriptor, TextureDescriptor, TextureObject

SIDE, LAYERS, ANGLES, BLOCK = 128, 64, 16, 16

SOURCE = r"""
extern "C" __global__ void project(cudaTextureObject_t volume, float sine, float cosine, int side, int layers,
                                   float* image) {
    int u = blockIdx.x * blockDim.x + threadIdx.x, z = blockIdx.y * blockDim.y + threadIdx.y;
    if (u >= side || z >= layers) return;
    float across = u + 0.5f - 0.5f * side, total = 0.0f;
    for (int s = 0; s < side; s++) {
        float along = s + 0.5f - 0.5f * side;
        float x = across * cosine - along * sine + 0.5f * side, y = across * sine + along * cosine + 0.5f * side;
        total += tex3D<float>(volume, x, y, z + 0.5f);
    }
    image[z * side + u] = total / side;
}
"""


class Projector:
    def __init__(self):
        self.kernel = cupy.RawKernel(SOURCE, "project")
        self.channel = ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
        self.reading = TextureDescriptor((runtime.cudaAddressModeBorder,) * 3, runtime.cudaFilterModeLinear,
                                         runtime.cudaReadModeElementType)
        self.textures = {}

    def load(self, scan, volume):
        """Makes the texture that all angles of this scan share."""
        array = CUDAarray(self.channel, SIDE, SIDE, LAYERS)
        array.copy_from(volume)
        resource = ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
        self.textures = {scan: TextureObject(resource, self.reading)}

    def project(self, scan, angle):
        image = cupy.empty((LAYERS, SIDE), dtype=cupy.float32)
        grid = -(-SIDE // BLOCK), -(-LAYERS // BLOCK)
        self.kernel(grid, (BLOCK, BLOCK), (self.textures[scan], numpy.float32(math.sin(angle)),
                    numpy.float32(math.cos(angle)), numpy.int32(SIDE), numpy.int32(LAYERS), image))
        return image


class Cell:
    """The true cell: a can with a front of lithium that moves in."""

    def __init__(self):
        axis = cupy.arange(SIDE, dtype=cupy.float32) - (SIDE - 1) / 2
        self.radius = cupy.sqrt(axis[:, None] ** 2 + axis[None] ** 2)

    def radiograph(self, charge):
        """What the detector sees: the can looks the same from all sides."""
        slice_ = cupy.where(self.radius < 50, 1.0 - 0.5 * (self.radius > 50 - 30 * charge), 0.0)
        line = slice_.mean(axis=0).astype(cupy.float32)
        return line[None] + 0.005 * cupy.random.standard_normal((LAYERS, SIDE), dtype=cupy.float32)


def correct(volume, projector, scan, cell, charge):
    """Projects the guess at all angles and spreads back what differs."""
    axis = cupy.arange(SIDE, dtype=cupy.float32) + 0.5 - SIDE / 2
    change, misfit = cupy.zeros_like(volume), 0.0
    for number in range(ANGLES):
        angle = math.pi * number / ANGLES
        residual = cell.radiograph(charge) - projector.project(scan, angle)
        place = axis[None] * math.cos(angle) + axis[:, None] * math.sin(angle) + SIDE / 2
        change += residual[:, cupy.clip(place, 0, SIDE - 1).astype(cupy.int32)]
        misfit += float(cupy.abs(residual).mean())
    return cupy.ascontiguousarray(cupy.maximum(volume + 0.5 * change / ANGLES, 0)), misfit / ANGLES


def main():
    projector, cell, scan = Projector(), Cell(), 0
    volume = cupy.zeros((LAYERS, SIDE, SIDE), dtype=cupy.float32)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        charge = 0.5 - 0.5 * math.cos(0.05 * scan)
        projector.load(scan, volume)
        volume, misfit = correct(volume, projector, scan, cell, charge)
        scan += 1
        if scan % 10 == 0:
            print(f"scan {scan}: charge {charge:.2f}, misfit {misfit:.4f}", flush=True)
        time.sleep(0.25)


if __name__ == "__main__":
    main()
