"""Reads the glyphs of one script after another, as the clay tablets come out of their crates. Each script gets a head
of its own, which starts anew on the shared body and learns for some ten steps with the body's optimizer; its
accuracy is printed and the next script takes over.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

SIDE, FEATURES, HIDDEN, BATCH, STEPS = 32, 1024, 512, 32, 10


class Body(nn.Module):
    """The strokes that all scripts share."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 16, 5, stride=2, padding=2), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(),
        )

    def forward(self, glyphs):
        return self.layers(glyphs)


class Script:
    """A script: a prototype of each glyph, from which the scribes stray a little."""

    def __init__(self, device):
        self.prototypes = (torch.rand(random.randint(20, 60), 1, SIDE, SIDE, device=device) > 0.8).float()

    def batch(self):
        labels = torch.randint(len(self.prototypes), (BATCH,), device=self.prototypes.device)
        glyphs = self.prototypes[labels]
        return glyphs + 0.3 * torch.randn_like(glyphs), labels


def new_head(optimizer, glyphs, device):
    """A head for so many glyphs, which the optimizer trains together with the body."""
    head = nn.Sequential(
        nn.Linear(FEATURES, HIDDEN, device=device),
        nn.ReLU(),
        nn.Linear(HIDDEN, glyphs, device=device),
    )
    if len(optimizer.param_groups) > 1:
        for parameter in optimizer.param_groups.pop()["params"]:
            optimizer.state.pop(parameter, None)
    optimizer.add_param_group({"params": list(head.parameters()), "lr": 3e-3})
    return head


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    body = Body().to(device)
    optimizer = torch.optim.Adam(body.parameters(), lr=5e-4)
    scripts = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        script = Script(device)
        head = new_head(optimizer, len(script.prototypes), device)
        for _ in range(STEPS):
            glyphs, labels = script.batch()
            loss = F.cross_entropy(head(body(glyphs)), labels)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            time.sleep(0.03)
        with torch.no_grad():
            glyphs, labels = script.batch()
            right = (head(body(glyphs)).argmax(1) == labels).float().mean().item()
        scripts += 1
        if scripts % 5 == 0:
            print(f"script {scripts}: {len(script.prototypes)} glyphs, {right:.2f} right", flush=True)


if __name__ == "__main__":
    main()
