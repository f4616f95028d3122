"""A slice of amber is reconstructed from its X-ray projections, to see the insect in it, by ordered subsets of angles.
The forward projector samples the slice through a texture, as the texture unit interpolates for nothing. The error is
printed.

ticket: practice
class: none
"""

import math
import os
import random
import time

import cupy as cp
from cupy.cuda import runtime, texture

SIDE = 576

MARCH = cp.RawKernel(r"""
extern "C" __global__
void march(float* rays, cudaTextureObject_t image, int side, float cosine, float sine) {
    int ray = blockIdx.x * blockDim.x + threadIdx.x;
    if (ray >= side) return;
    float middle = 0.5f * side, across = ray + 0.5f - middle, sum = 0.0f;
    for (int step = 0; step < side; ++step) {
        float along = step + 0.5f - middle;
        sum += tex2D<float>(image, middle + across * cosine - along * sine, middle + across * sine + along * cosine);
    }
    rays[ray] = sum / side;
}
""", "march")

FLOAT = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
BORDER = (runtime.cudaAddressModeBorder, runtime.cudaAddressModeBorder)
LINEAR = texture.TextureDescriptor(BORDER, runtime.cudaFilterModeLinear, runtime.cudaReadModeElementType)


def make_texture():
    """An array in texture memory and the object that a kernel reads it through."""
    array = texture.CUDAarray(FLOAT, SIDE, SIDE)
    resource = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
    return array, texture.TextureObject(resource, LINEAR)


class Projector:
    def __init__(self):
        line = cp.arange(SIDE, dtype=cp.float32) + 0.5 - 0.5 * SIDE
        self.down, self.right = line[:, None], line[None, :]
        self.array, self.view = make_texture()

    def bind(self, image):
        """The image as a texture (the copy waits for the kernels that read the last one)."""
        self.array.copy_from(image)
        return self.view

    def project(self, image, angles):
        view, sinogram = self.bind(image), cp.empty((len(angles), SIDE), dtype=cp.float32)
        for row, angle in enumerate(angles):
            cosine, sine = cp.float32(math.cos(angle)), cp.float32(math.sin(angle))
            MARCH(((SIDE + 127) // 128,), (128,), (sinogram[row], view, cp.int32(SIDE), cosine, sine))
        return sinogram

    def smear(self, sinogram, angles):
        """Puts each ray's value back on all the pixels that it crosses."""
        image = cp.zeros((SIDE, SIDE), dtype=cp.float32)
        for row, angle in enumerate(angles):
            across = self.right * math.cos(angle) + self.down * math.sin(angle) + 0.5 * SIDE
            image += sinogram[row][cp.clip(across.astype(cp.int32), 0, SIDE - 1)]
        return image / len(angles)


def amber(projector):
    """A round piece of amber with something in it that has two wings."""
    down, right = projector.down / SIDE, projector.right / SIDE
    piece = (down ** 2 + right ** 2 < 0.18).astype(cp.float32)
    wings = (cp.abs(down) < 0.2 * cp.abs(cp.sin(20.0 * right))) & (cp.abs(right) < 0.15)
    return cp.ascontiguousarray(piece + 0.8 * wings.astype(cp.float32))


def main():
    projector = Projector()
    truth, image, rounds = amber(projector), cp.zeros((SIDE, SIDE), dtype=cp.float32), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        angles = [random.uniform(0.0, math.pi) for _ in range(8)]
        measured = projector.project(truth, angles)
        residual = measured - projector.project(image, angles)
        image = cp.maximum(image + 0.8 * projector.smear(residual, angles), 0.0)
        rounds += 1
        if rounds % 20 == 0:
            print(f"round {rounds}: error {float(cp.abs(image - truth).mean()):.4f}", flush=True)
        time.sleep(random.uniform(0.1, 0.25))


if __name__ == "__main__":
    main()
