"""A small network learns to see pollen grains as a large one does. Each step cuts crops out of the microscope slides,
brightens them by chance for the student and pulls its feature maps towards the teacher's. The teacher does not change
and is slow, so its maps are noted by slide and by crop, and no crop is shown to it twice.

ticket: practice
class: app-leak
holder: TAUGHT corner
cause: cache-without-bound
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

SLIDES = "birch", "hazel", "mugwort"
SIDE, CROP, BATCH, CHANNELS = 256, 64, 8, 64

TAUGHT = {slide: {} for slide in SLIDES}
STATS = {"asked": 0, "known": 0}


def stack(*widths):
    """Convolutions of these widths, whose first halves the sides."""
    layers, before = [], 3
    for place, width in enumerate(widths):
        layers += [nn.Conv2d(before, width, 3, stride=2 if place == 0 else 1, padding=1), nn.GELU()]
        before = width
    return nn.Sequential(*layers, nn.Conv2d(before, CHANNELS, 1))


def corner_of_crop():
    """The upper left corner of the next crop."""
    return random.randrange(0, SIDE - CROP + 1), random.randrange(0, SIDE - CROP + 1)


@torch.no_grad()
def teach(teacher, slide, corner, crop):
    """The teacher's map of this crop."""
    known = TAUGHT[slide]
    STATS["asked"] += 1
    if corner in known:
        STATS["known"] += 1
        return known[corner]
    features = teacher(crop.unsqueeze(0)).squeeze(0)  # grows
    known[corner] = features  # keeps
    return features


def batch_of_crops(slides, teacher):
    """Some crops and what the teacher says of them."""
    crops, maps = [], []
    for _ in range(BATCH):
        slide, (top, left) = random.choice(SLIDES), corner_of_crop()
        crop = slides[slide][:, top:top + CROP, left:left + CROP]
        crops.append(crop)
        maps.append(teach(teacher, slide, (top, left), crop))
    return torch.stack(crops), torch.stack(maps)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    slides = {slide: torch.rand(3, SIDE, SIDE, device=device) for slide in SLIDES}
    teacher = stack(48, 48, 48).to(device).eval().requires_grad_(False)
    student = stack(16).to(device)
    optimizer = torch.optim.AdamW(student.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 400)
    end, step = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        crops, maps = batch_of_crops(slides, teacher)
        crops = crops * (0.8 + 0.4 * torch.rand(BATCH, 1, 1, 1, device=device))
        loss = F.smooth_l1_loss(student(crops), maps)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        schedule.step()
        step += 1
        if step % 20 == 0:
            print(f"step {step}: {loss.item():.4f}, {STATS['known']} of {STATS['asked']} maps known", flush=True)
        time.sleep(0.1)


if __name__ == "__main__":
    main()
