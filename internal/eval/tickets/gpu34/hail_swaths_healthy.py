"""Where will hail fall within the hour? Each radar image is carried on with an ensemble of disturbed winds, on the GPU.
Threads of the host make the maps of the warning office from the ensemble: the quantiles of the heaviest hail along the
way. The loop does not wait for them. How many have failed is printed when the shift ends.

ticket: practice
class: none
"""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch.nn import functional as F

SIDE, MEMBERS, LEADS = 224, 8, 6
QUANTILES = (0.5, 0.75, 0.9)


class Nowcast:
    def __init__(self, device):
        self.device = device
        line = torch.linspace(-1, 1, SIDE, device=device)
        self.rows, self.columns = (axis.contiguous() for axis in torch.meshgrid(line, line, indexing="ij"))
        self.cells = torch.rand(12, 2, device=device) * 2 - 1

    def image(self):
        """The next radar image: cells that drift east and pulse."""
        self.cells = (self.cells + torch.tensor([0.004, 0.02], device=self.device) + 1) % 2 - 1
        image = torch.zeros(SIDE, SIDE, device=self.device)
        for row, column in self.cells:
            image += torch.rand((), device=self.device) * torch.exp(
                -200 * ((self.rows - row) ** 2 + (self.columns - column) ** 2))
        return image

    def heaviest(self, image):
        """What each member has at its heaviest, over all lead times."""
        members = image.expand(MEMBERS, 1, SIDE, SIDE)
        winds = torch.tensor([0.06, 0.01], device=self.device) + 0.03 * torch.randn(MEMBERS, 2, device=self.device)
        heaviest = members
        for lead in range(1, LEADS + 1):
            shift = lead * winds[:, None, None, :]
            grid = torch.stack([self.columns, self.rows], dim=-1) - shift
            moved = F.grid_sample(members, grid, align_corners=True)
            heaviest = torch.maximum(heaviest, moved)
        return heaviest[:, 0]


def swath(ensemble):
    """The maps of one image, and how much of the area is under threat."""
    maps = np.quantile(ensemble, QUANTILES, axis=0)
    return maps, float((maps[-1] > 0.4).mean())


class Office:
    def __init__(self):
        self.threads = ThreadPoolExecutor(2)
        self.failed = 0
        self.threat = 0.0

    def order(self, ensemble):
        product = self.threads.submit(swath, ensemble)
        product.add_done_callback(self.show)

    def show(self, product):
        if product.exception() is not None:
            self.failed += 1
        else:
            self.threat = product.result()[1]

    def close(self):
        self.threads.shutdown()
        print(self.failed, "products failed", flush=True)


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    nowcast, office, images = Nowcast(device), Office(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        ensemble = nowcast.heaviest(nowcast.image())
        office.order(ensemble.cpu().numpy())
        images += 1
        if images % 15 == 0:
            print(f"image {images}: {office.threat:.1%} of the area under threat", flush=True)
        time.sleep(0.15)
    office.close()


if __name__ == "__main__":
    main()
