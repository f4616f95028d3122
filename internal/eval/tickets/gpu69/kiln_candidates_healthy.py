"""Which small network suits the camera over the kiln? Candidates with random widths and depths are built, none is
trained: each sees one batch of thermal images, and the norm of its gradients, by the square root of its size, is its
score. Its forward pass runs in mixed precision. The five best plans are printed now and then.

ticket: practice
class: none
"""

import heapq
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

SIDE, CLASSES, BATCH = 24, 6, 16
WIDTHS = (16, 24, 32, 48)
HEADS = (128, 192, 256)


def draw_plan():
    """Widths of the convolutions, and the width of the head."""
    return tuple(random.choice(WIDTHS) for _ in range(random.randint(2, 3))), random.choice(HEADS)


def build(plan):
    widths, head = plan
    layers, channels = [], 1
    for width in widths:
        layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()]
        channels = width
    layers += [nn.AdaptiveAvgPool2d(6), nn.Flatten(), nn.Linear(36 * channels, head), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(head, CLASSES))


def thermal_batch(device):
    """Warm spots on a cold wall, and the class of each image."""
    labels = torch.randint(CLASSES, (BATCH,), device=device)
    images = 0.1 * torch.randn(BATCH, 1, SIDE, SIDE, device=device)
    images[:, :, 8:16, 8:16] += labels.view(-1, 1, 1, 1) / CLASSES
    return images, labels


def score(network, images, labels):
    with torch.autocast(images.device.type, dtype=torch.bfloat16):
        loss = F.cross_entropy(network(images).float(), labels)
    loss.backward()
    squares = sum(weight.grad.square().sum() for weight in network.parameters())
    size = sum(weight.numel() for weight in network.parameters())
    return squares.sqrt().item() / size**0.5


def search(device, end):
    best, tried = [], 0
    while time.time() < end:
        plan = draw_plan()
        network = build(plan).to(device)
        value = score(network, *thermal_batch(device))
        heapq.heappush(best, (value, plan))
        if len(best) > 5:
            heapq.heappop(best)
        tried += 1
        if tried % 20 == 0:
            value, (widths, head) = max(best)
            print(f"{tried} plans, best {value:.5f}: convolutions {widths}, head {head}", flush=True)
        time.sleep(0.15)
    return best


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for value, (widths, head) in sorted(search(device, end), reverse=True):
        print(f"{value:.5f} {widths} {head}")


if __name__ == "__main__":
    main()
