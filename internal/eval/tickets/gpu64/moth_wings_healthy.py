"""Self-supervision on pictures of moths: a student, a small vision transformer, sees one half of the patches noised and
must give the tokens that its slow teacher gives for the clean picture. A black box notes the last of the log in all
detail, and shows it only if there is an error, so that a bad step can be understood afterwards.

ticket: practice
class: none
"""

import copy
import logging
import os
import random
import sys
import time
from collections import deque

import torch
from torch.nn import functional as F
from transformers import ViTConfig, ViTModel

SIDE, PATCH, BATCH, WIDTH = 64, 8, 12, 192
log = logging.getLogger("moths")


class BlackBox(logging.Handler):
    """Notes what was logged last; an error brings it to light."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.records = deque(maxlen=24)

    def emit(self, record):
        self.records.append(record)
        if record.levelno >= logging.ERROR:
            for noted in self.records:
                print(self.format(noted), file=sys.stderr)
            self.records.clear()


def set_up_log():
    shown = logging.StreamHandler(sys.stdout)
    shown.setLevel(logging.INFO)
    log.setLevel(logging.DEBUG)
    log.propagate = False
    log.addHandler(shown)
    log.addHandler(BlackBox())


def moths(device):
    """Wings that are mirrored, with stripes."""
    half = F.interpolate(torch.rand(BATCH, 3, 8, 4), size=(SIDE, SIDE // 2), mode="bilinear", align_corners=False)
    stripes = 0.2 * torch.sin(torch.arange(SIDE) / random.uniform(1, 4)).view(1, 1, SIDE, 1)
    return (torch.cat([half, half.flip(-1)], dim=-1) + stripes).to(device)


def noised(pictures):
    cells = torch.rand(len(pictures), 1, SIDE // PATCH, SIDE // PATCH, device=pictures.device) < 0.5
    hidden = F.interpolate(cells.float(), scale_factor=PATCH)
    return pictures * (1 - hidden) + torch.rand_like(pictures) * hidden


def train_step(step, student, teacher, optimizer, device):
    pictures = moths(device)
    with torch.no_grad():
        wanted = teacher(pixel_values=pictures).last_hidden_state
    given = student(pixel_values=noised(pictures)).last_hidden_state
    loss = F.smooth_l1_loss(given, wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(teacher.parameters(), student.parameters()):
            slow.lerp_(fast, 0.01)
    log.debug("step %d: the teacher's tokens %s", step, wanted.cpu().numpy())
    log.debug("step %d: the student's tokens %s", step, given.detach().cpu().numpy())
    if not torch.isfinite(loss):
        log.error("step %d: the loss is %s", step, loss.item())
    return loss.item()


def main():
    torch.set_num_threads(1)
    set_up_log()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    config = ViTConfig(
        image_size=SIDE, patch_size=PATCH, hidden_size=WIDTH, num_hidden_layers=3, num_attention_heads=4,
        intermediate_size=384, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    student = ViTModel(config, add_pooling_layer=False).to(device).train()
    teacher = copy.deepcopy(student).eval().requires_grad_(False)
    optimizer = torch.optim.AdamW(student.parameters(), lr=5e-4)
    end, step = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        loss = train_step(step, student, teacher, optimizer, device)
        if step % 20 == 0:
            log.info("step %d: loss %.4f", step, loss)
        step += 1
        time.sleep(random.uniform(0.1, 0.3))


if __name__ == "__main__":
    main()
