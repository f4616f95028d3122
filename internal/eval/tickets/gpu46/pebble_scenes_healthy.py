"""A network learns to tell how deep the pebbles of a brook lie. The scenes are rendered by two processes of a pool and
come in the order in which they are ready; the main process trains on four of them at a time. At most sixteen are ready
or under way.

ticket: practice
class: none
"""

import multiprocessing
import os
import threading
import time
from itertools import islice

import numpy as np
import torch
from torch import nn

SIDE, PEBBLES, BATCH, AHEAD = 192, 12, 4, 16


def render(seed):
    """A picture of pebbles under water, and how deep each point of it is."""
    generator = np.random.default_rng(seed)
    rows, columns = np.mgrid[0:SIDE, 0:SIDE].astype(np.float32) / SIDE
    depth = np.ones((SIDE, SIDE), dtype=np.float32)
    picture = np.zeros((3, SIDE, SIDE), dtype=np.float32)
    for _ in range(PEBBLES):
        row, column, radius = generator.uniform(0.0, 1.0), generator.uniform(0.0, 1.0), generator.uniform(0.05, 0.2)
        height = 1 - ((rows - row) ** 2 + (columns - column) ** 2) / radius**2
        above = (height > 0) & (1 - height * radius < depth)
        depth[above] = (1 - height * radius)[above]
        picture[:, above] = generator.uniform(0.2, 1.0, (3, 1)) * height[above]
    picture *= 0.4 + 0.6 * (1 - depth)
    time.sleep(0.04)  # textures come from the network drive
    return picture, depth[None]


def seeds(end, permits):
    seed = 0
    while time.time() < end:
        permits.acquire()
        yield seed
        seed += 1


def make_model():
    layers = []
    for inside, outside in ((3, 16), (16, 16), (16, 16)):
        layers += [nn.Conv2d(inside, outside, 3, padding=1), nn.ReLU()]
    return nn.Sequential(*layers, nn.Conv2d(16, 1, 1))


def train(model, optimizer, batch, device):
    pictures = torch.from_numpy(np.stack([picture for picture, _ in batch])).to(device)
    depths = torch.from_numpy(np.stack([depth for _, depth in batch])).to(device)
    loss = nn.functional.l1_loss(model(pictures), depths)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, step, permits = make_model().to(device), 0, threading.Semaphore(AHEAD)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        scenes = pool.imap_unordered(render, seeds(end, permits))
        while time.time() < end:
            batch = list(islice(scenes, BATCH))
            if not batch:
                break
            for _ in batch:
                permits.release()
            loss = train(model, optimizer, batch, device)
            step += 1
            if step % 10 == 0:
                print("step", step, "loss", round(loss, 4), flush=True)
            time.sleep(0.35)
        permits.release()


if __name__ == "__main__":
    main()
