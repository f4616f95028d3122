"""Shows the ground below an aircraft, with cupy (a GPU only). The ground comes in tiles; a tile is made as fine as it
has to be from that height, and goes into a texture, from which the device reads in between by itself. Textures take
long to make, so the last few are kept for when the same tile is needed again at the same fineness.

ticket: practice
class: none
"""

import collections
import os
import random
import tempfile
import time

os.environ.setdefault("CUPY_CACHE_DIR", tempfile.mkdtemp())

import cupy as cp
import numpy as np

TILE, TILES, ROWS, COLUMNS, KEEP = 768, 3, 360, 640, 5

LOOK = cp.RawKernel(r"""
extern "C" __global__ void look(cudaTextureObject_t ground, float* picture, int rows, int columns,
                                float north, float east, float height, float tile) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column >= columns || row >= rows) return;
    float far = height * (0.2f + 1.0f * (rows - row) / rows), side = far * (column - columns / 2) / columns;
    float across = (east + side) * tile, down = (north + far) * tile;
    float here = tex2D<float>(ground, across, down), next = tex2D<float>(ground, across + 2.0f, down + 1.0f);
    picture[row * columns + column] = 0.5f + 0.3f * here + 8.0f * (next - here);
}
""", "look")


def heights(north, east, fineness):
    """Mountains of a tile; the finer it is, the more small ones."""
    down, across = np.meshgrid(np.linspace(north, north + 1, TILE, dtype=np.float32),
                               np.linspace(east, east + 1, TILE, dtype=np.float32), indexing="ij")
    ground = np.zeros((TILE, TILE), np.float32)
    for octave in range(1, 1 + max(1, int(fineness))):
        ground += np.sin(2.0 ** octave * across + octave) * np.cos(2.0 ** octave * down - octave) / 2.0 ** octave
    return ground.astype(np.float32)


def texture(ground):
    """A texture which is read with blending, and goes on at its rims."""
    runtime, make = cp.cuda.runtime, cp.cuda.texture
    channel = make.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)
    array = make.CUDAarray(channel, TILE, TILE)
    array.copy_from(ground)
    resource = make.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
    reading = make.TextureDescriptor((runtime.cudaAddressModeClamp,) * 2, runtime.cudaFilterModeLinear,
                                     runtime.cudaReadModeElementType)
    return make.TextureObject(resource, reading)


class Ground:
    def __init__(self):
        self.textures = collections.OrderedDict()

    def tile(self, north, east, height):
        fineness = min(6.0, max(1.0, 3.0 / height))
        key = north % TILES, east % TILES, int(fineness)
        if key not in self.textures:
            while len(self.textures) >= KEEP:
                self.textures.popitem(last=False)
            self.textures[key] = texture(heights(*key))
        self.textures.move_to_end(key)
        return self.textures[key]


def main():
    ground, picture = Ground(), cp.zeros((ROWS, COLUMNS), cp.float32)
    end, said, shown = time.time() + float(os.environ.get("SECONDS", "45")), time.time(), 0
    north, east, height = 0.0, 0.0, 1.0
    while time.time() < end:
        north, east = north + random.uniform(0, 0.2), east + random.uniform(-0.1, 0.15)
        height = min(2.5, max(0.6, height + random.uniform(-0.1, 0.1)))
        tile = ground.tile(int(north), int(east), height)
        LOOK(((COLUMNS + 127) // 128, ROWS), (128,),
             (tile, picture, np.int32(ROWS), np.int32(COLUMNS), np.float32(north % 1), np.float32(east % 1),
              np.float32(height), np.float32(TILE)))
        shown += 1
        if time.time() - said > 2:
            said = time.time()
            print(shown, "pictures, height", round(height, 2), "light", round(float(picture.mean()), 3), flush=True)
        time.sleep(random.uniform(0.1, 0.4))


if __name__ == "__main__":
    main()
