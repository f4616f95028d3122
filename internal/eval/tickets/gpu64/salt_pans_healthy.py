"""Maps salt pans in satellite pictures, tile by tile: the network gives a probability for each of four kinds of ground,
and a thread behind it smooths that, packs the raster and counts the bytes, so that the device need not wait. Errors of
the thread are raised at the next batch.

ticket: practice
class: none
"""

import os
import random
import time
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torchvision.models.segmentation import lraspp_mobilenet_v3_large
from torchvision.transforms.functional import normalize

GROUNDS = "water", "brine", "salt", "land"
SIDE, BATCH = 320, 2
MEAN, STD = [0.4, 0.4, 0.35], [0.2, 0.2, 0.2]


class Rasters:
    """Finishes the rasters in the background."""

    def __init__(self):
        self.thread = ThreadPoolExecutor(max_workers=1)
        self.jobs = []
        self.packed = 0

    def put(self, probabilities):
        self.jobs.append(self.thread.submit(self.finish, probabilities))

    def finish(self, probabilities):
        """Smooths the probabilities with the neighbours and packs the raster of the likeliest ground."""
        smooth = probabilities.copy()
        for axis in (1, 2):
            smooth += np.roll(probabilities, 1, axis) + np.roll(probabilities, -1, axis)
        smooth /= smooth.sum(0)
        self.packed += len(zlib.compress(smooth.argmax(0).astype(np.uint8).tobytes(), 1))
        return smooth

    def check(self):
        """Raises the errors of the background; gives the share of each ground in the last that is finished."""
        done = [job for job in self.jobs if job.done()]
        self.jobs = [job for job in self.jobs if job not in done]
        finished = [job.result() for job in done]
        return finished[-1].mean((1, 2)) if finished else np.zeros(len(GROUNDS))

    def close(self):
        self.thread.shutdown()


def tiles():
    """Flat basins with straight dams, as the satellite sees them."""
    basins = torch.rand(BATCH, 3, 5, 5).repeat_interleave(SIDE // 5, 2).repeat_interleave(SIDE // 5, 3)
    return normalize(basins + 0.05 * torch.randn_like(basins), MEAN, STD)


@torch.inference_mode()
def classify(model, pictures):
    return model(pictures)["out"].softmax(1).cpu().numpy()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=len(GROUNDS)).to(device).eval()
    rasters, batches = Rasters(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for probabilities in classify(model, tiles().to(device)):
            rasters.put(probabilities)
        shares = rasters.check()
        batches += 1
        if batches % 15 == 0:
            grounds = ", ".join(f"{ground} {share:.2f}" for ground, share in zip(GROUNDS, shares))
            print(f"{batches * BATCH} tiles, {rasters.packed / 1e6:.1f} MB packed; {grounds}", flush=True)
        time.sleep(random.uniform(0.1, 0.35))
    rasters.close()


if __name__ == "__main__":
    main()
