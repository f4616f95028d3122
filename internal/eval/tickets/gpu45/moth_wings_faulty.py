"""How steady is the first stage of a ResNet on photographs of moth wings? Each batch is shown clean and then with more
and more noise, and the mean change of the stage's output is measured at each level.

ticket: practice
class: app-leak
holder: _forward_hooks layer1 clean
cause: hooks-left closure-kept
"""

import os
import random
import time
from collections import Counter

import torch
from torchvision.models import resnet18
from torchvision.transforms import functional as TF

SIDE, BATCH = 160, 8
LEVELS = (0.05, 0.1, 0.2)

torch.set_num_threads(1)
torch.set_grad_enabled(False)
device = "cuda" if torch.cuda.is_available() else "cpu"
end = time.time() + float(os.environ.get("SECONDS", "45"))

model = resnet18(weights=None, num_classes=40).to(device).eval()


def photographs():
    """Wings with stripes of a random width, as the museum's camera takes them."""
    across = torch.linspace(0, 1, SIDE, device=device).expand(BATCH, 3, SIDE, SIDE)
    stripes = torch.rand(BATCH, 3, 1, 1, device=device) * 40 + 5
    wings = 0.5 + 0.5 * torch.sin(across * stripes)
    if random.random() < 0.5:
        wings = TF.hflip(wings)
    return TF.normalize(wings, [0.5, 0.5, 0.5], [0.25, 0.25, 0.25])


def first_stage(photos):
    x = model.maxpool(model.relu(model.bn1(model.conv1(photos))))
    return model.layer1(x)


def changes(photos):
    """The mean change of the first stage at each level of noise, and how many of the answers stay the same."""
    clean = first_stage(photos)  # grows
    answers = model(photos).argmax(dim=1)
    measured = []

    def compare(module, args, output):
        measured.append((output - clean).abs().mean().item())

    model.layer1.register_forward_hook(compare)  # keeps
    same = []
    for level in LEVELS:
        noisy = photos + level * torch.randn_like(photos)
        same.append((model(noisy).argmax(dim=1) == answers).float().mean().item())
    return measured, same


batches = 0
change_by_level = Counter()
same_by_level = Counter()

while time.time() < end:
    measured, same = changes(photographs())
    batches += 1
    for level, change, kept in zip(LEVELS, measured, same):
        change_by_level[level] += change
        same_by_level[level] += kept
    if batches % 10 == 0:
        text = ", ".join(f"{level}: {change_by_level[level] / batches:.4f} ({same_by_level[level] / batches:.2f})"
                         for level in LEVELS)
        print(f"{batches} batches, change by noise {text}", flush=True)
    time.sleep(random.uniform(0.15, 0.3))
