"""Names the fungus on each photo that foragers send in, and shows them what the network looked at: a heat map is made
of the activations of a middle layer and their gradients (Grad-CAM). Photos come in batches.

ticket: practice
class: none
"""

import os
import random
import time
from collections import Counter

import torch
from torch.nn import functional as F
from torchvision.models import resnet18

KINDS = ("chanterelle", "porcini", "fly agaric", "morel", "puffball", "ink cap", "parasol", "russula")
BATCH, SIDE = 16, 192


def photos(device):
    """A batch of photos: a cap on a stalk before the forest floor."""
    batch = 0.3 * torch.rand(BATCH, 3, SIDE, SIDE)
    for photo in batch:
        row, column = random.randrange(30, 110), random.randrange(30, 130)
        photo[:, row : row + 30, column : column + 40] += torch.rand(3, 1, 1)
        photo[:, row + 30 : row + 80, column + 14 : column + 26] += 0.5
    return batch.clamp_(0, 1).to(device)


def heat(activations, slopes):
    """Where the activations speak for the chosen kind, scaled to the photo's size."""
    weights = slopes.mean(dim=(2, 3), keepdim=True)
    maps = F.relu((weights * activations).sum(dim=1, keepdim=True))
    maps = maps / (maps.amax(dim=(2, 3), keepdim=True) + 1e-6)
    return F.interpolate(maps, size=(SIDE, SIDE), mode="bilinear", align_corners=False)


def explain(model, batch):
    """The kind on each photo and a heat map for it."""
    activations = []
    hook = model.layer3.register_forward_hook(lambda module, inputs, output: activations.append(output))
    scores = model(batch)
    hook.remove()
    activations[0].retain_grad()
    best = scores.argmax(dim=1)
    scores.gather(1, best[:, None]).sum().backward()
    model.zero_grad(set_to_none=True)
    maps = heat(activations[0].detach(), activations[0].grad)
    return best.tolist(), maps


def hot_share(maps):
    """Which part of each photo is hot."""
    return (maps > 0.5).float().mean(dim=(1, 2, 3)).tolist()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = resnet18(weights=None, num_classes=len(KINDS)).to(device).eval()
    found, batches = Counter(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        kinds, maps = explain(model, photos(device))
        shares = hot_share(maps)
        found.update(KINDS[kind] for kind in kinds)
        batches += 1
        if batches % 10 == 0:
            name, times = found.most_common(1)[0]
            print(f"{batches * BATCH} photos, most often {name} ({times}); {max(shares):.2f} hot at most", flush=True)
        time.sleep(random.uniform(0.1, 0.25))


if __name__ == "__main__":
    main()
