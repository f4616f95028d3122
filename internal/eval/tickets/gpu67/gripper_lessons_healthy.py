"""Lifelong grasp learning for my semester project. The gripper gets a new object every half second (simulated); the
trunk is shared and goes on learning, and every object gets a fresh head that predicts the grasp map. When the object
changes, the old head has done its work.

ticket: practice
class: none
"""

import os
import random
import time

import torch
import torch.nn as nn

OBJECTS = ["mug", "spanner", "teddy", "sponge", "lemon"]
IMAGE = 48
GRID = 16


class GraspTrunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 5, stride=2, padding=2)
        self.conv2 = nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.fc = nn.Linear(32 * 12 * 12, 512)

    def forward(self, x):
        x = torch.relu(self.conv1(x))
        x = torch.relu(self.conv2(x))
        return torch.relu(self.fc(x.flatten(1)))


class LifelongLearner:
    def __init__(self, device):
        self.device = device
        self.trunk = GraspTrunk().to(device)
        self.head = None
        self.optimizer = torch.optim.Adam(self.trunk.parameters(), lr=3e-4)
        self.loss_fn = nn.BCEWithLogitsLoss()

    def new_object(self):
        for group in self.optimizer.param_groups[1:]:
            for parameter in group["params"]:
                self.optimizer.state.pop(parameter, None)
        del self.optimizer.param_groups[1:]
        self.head = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, GRID * GRID)).to(self.device)
        self.optimizer.add_param_group({"params": list(self.head.parameters()), "lr": 1e-3})

    def train_step(self, images, targets):
        self.optimizer.zero_grad(set_to_none=True)
        logits = self.head(self.trunk(images))
        loss = self.loss_fn(logits, targets)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def camera_batch(name, size=16):
    """Fake depth images with a blob; the grasp is good near the blob."""
    centre = torch.rand(size, 2)
    sharpness = 20.0 + 10.0 * OBJECTS.index(name)

    def blob(side):
        line = torch.linspace(0, 1, side)
        dy = (line[None, :, None] - centre[:, 0, None, None]) ** 2
        dx = (line[None, None, :] - centre[:, 1, None, None]) ** 2
        return torch.exp(-sharpness * (dx + dy))

    images = blob(IMAGE).unsqueeze(1) + 0.05 * torch.randn(size, 1, IMAGE, IMAGE)
    targets = (blob(GRID) > 0.5).float().flatten(1)
    return images, targets


def main():
    torch.set_num_threads(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    learner = LifelongLearner(device)
    lesson = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))

    while time.time() < end:
        name = random.choice(OBJECTS)
        learner.new_object()
        losses = []
        for _ in range(8):
            images, targets = camera_batch(name)
            losses.append(learner.train_step(images.to(device), targets.to(device)))
            time.sleep(0.05)
        lesson += 1
        if lesson % 5 == 0:
            print("lesson %d (%s): loss %.3f -> %.3f" % (lesson, name, losses[0], losses[-1]), flush=True)


if __name__ == "__main__":
    main()
