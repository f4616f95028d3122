"""Sorts scanned tarot cards by suit with a softmax regression on turned crops. The texture units do the turning: a
scan is put into a CUDA array, and a kernel samples crops from it at any angle. Each step trains with a few cards at
some exposure. A card's texture is made when it is first wanted.

ticket: practice
class: none
"""

import math
import os
import random
import time

import cupy as cp
import numpy as np
from cupy.cuda import runtime
from cupy.cuda.texture import ChannelFormatDescriptor, CUDAarray, ResourceDescriptor, TextureDescriptor, TextureObject

CARDS, SUITS = 12, 4
HEIGHT, WIDTH = 1200, 700
SIDE, CROPS = 48, 32

SAMPLE = cp.RawKernel(r"""
extern "C" __global__
void sample(float* crops, cudaTextureObject_t scan, const float* angles,
            int side, float width, float height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, crop = blockIdx.z;
    if (x >= side || y >= side) return;
    float u = (x + 0.5f) / side - 0.5f, v = (y + 0.5f) / side - 0.5f;
    float c = cosf(angles[crop]), s = sinf(angles[crop]);
    float across = width * (0.5f + 0.7f * (c * u - s * v)), down = height * (0.5f + 0.7f * (s * u + c * v));
    crops[(crop * side + y) * side + x] = tex2D<float>(scan, across, down);
}
""", "sample")


def make_texture(scan):
    channel = ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
    array = CUDAarray(channel, WIDTH, HEIGHT)
    array.copy_from(scan)
    clamp = runtime.cudaAddressModeClamp
    settings = TextureDescriptor((clamp, clamp), runtime.cudaFilterModeLinear, runtime.cudaReadModeElementType)
    return TextureObject(ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array), settings)


class Deck:
    def __init__(self, rng):
        self.scans = [rng.random((HEIGHT, WIDTH), dtype=np.float32) for _ in range(CARDS)]
        for card, scan in enumerate(self.scans):
            scan[card % SUITS::SUITS] *= 0.5
        self.rng, self.textures = rng, {}

    def texture(self, card):
        if card not in self.textures:
            self.textures[card] = make_texture(self.scans[card])
        return self.textures[card]

    def crops(self, card, exposure):
        crops = cp.empty((CROPS, SIDE, SIDE), dtype=cp.float32)
        angles = cp.asarray(self.rng.uniform(-math.pi, math.pi, CROPS).astype(np.float32))
        blocks = (SIDE + 15) // 16
        SAMPLE((blocks, blocks, CROPS), (16, 16), (
            crops, self.texture(card), angles, np.int32(SIDE), np.float32(WIDTH), np.float32(HEIGHT),
        ))
        return crops.reshape(CROPS, -1) * np.float32(exposure)


def train(weights, crops, suits, rate):
    """One step of gradient descent; the loss."""
    logits = crops @ weights
    logits -= logits.max(axis=1, keepdims=True)
    probs = cp.exp(logits)
    probs /= probs.sum(axis=1, keepdims=True)
    loss = -cp.log(probs[cp.arange(len(suits)), suits] + 1e-9).mean()
    probs[cp.arange(len(suits)), suits] -= 1
    weights -= rate * (crops.T @ probs) / len(suits)
    return float(loss)


def main():
    deck = Deck(np.random.default_rng(0))
    weights, step = cp.zeros((SIDE * SIDE, SUITS), dtype=cp.float32), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        exposure = random.uniform(0.7, 1.3)
        cards = random.sample(range(CARDS), 2)
        crops = cp.concatenate([deck.crops(card, exposure) for card in cards]) - 0.4
        suits = cp.repeat(cp.array([card % SUITS for card in cards]), CROPS)
        loss = train(weights, crops, suits, 0.01)
        step += 1
        if step % 10 == 0:
            print(f"step {step}: loss {loss:.3f}", flush=True)
        time.sleep(random.uniform(0.1, 0.4))


if __name__ == "__main__":
    main()
