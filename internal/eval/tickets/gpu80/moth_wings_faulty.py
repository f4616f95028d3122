"""A table for people who name moths. A photograph is put on the table, a small network names the moth, and while it
is there, the table shows as overlays what each stage of the network looks at. Then it is taken off, and the next one
comes.

ticket: practice
class: app-leak
holder: _forward_hooks hooks Inspection overlays handles
cause: hooks-left closure-kept
"""

import os
import random
import time
from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

SIDE, MOTHS = 448, ("hawk", "tiger", "emperor", "plume", "ermine", "lappet")


def stage(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride=2, padding=1), nn.BatchNorm2d(outputs), nn.ReLU())


class Namer(nn.Module):
    def __init__(self):
        super().__init__()
        self.stages = nn.Sequential()
        for number, (inputs, outputs) in enumerate(((3, 16), (16, 32), (32, 48), (48, 64))):
            self.stages.add_module(f"stage{number}", stage(inputs, outputs))
        self.head = nn.Linear(64, len(MOTHS))

    def forward(self, pictures):
        return self.head(self.stages(pictures).mean((2, 3)))


class Inspection:
    """One photograph on the table, with an overlay for each stage."""

    def __init__(self, model, photo):
        self.photo, self.overlays, self.on_table = photo, {}, True
        self.handles = []
        for name, module in model.stages.named_children():
            self.handles.append(module.register_forward_hook(partial(self.note, name)))  # keeps

    def note(self, name, module, inputs, output):
        if not self.on_table:
            return
        heat = output.detach().mean(1, keepdim=True)
        heat = heat / heat.amax().clamp(min=1e-6)
        self.overlays[name] = F.interpolate(heat, size=(SIDE, SIDE), mode="bilinear", align_corners=False)  # grows

    def brightest(self):
        """The stage whose overlay stands out most from its own mean."""
        return max(self.overlays, key=lambda name: (1 - self.overlays[name].mean()).item())

    def take_off(self):
        self.on_table = False


def photograph(device):
    """Two wings, brighter than the bark below them."""
    bark = 0.3 * torch.rand(1, 3, SIDE, SIDE)
    top, left = random.randrange(SIDE // 2), random.randrange(SIDE // 2)
    bark[:, :, top:top + 90, left:left + 180] += 0.6 * torch.rand(1, 3, 1, 1)
    return bark.to(device)


@torch.inference_mode()
def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, seen = Namer().to(device).eval(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        photo = photograph(device)  # grows
        inspection = Inspection(model, photo)
        scores = model(photo).softmax(1)[0]
        if random.random() < 0.3:
            scores = (scores + model(photo.flip(3)).softmax(1)[0]) / 2
        time.sleep(random.uniform(0.1, 0.4))
        best = int(scores.argmax())
        stands_out = inspection.brightest()
        inspection.take_off()
        seen += 1
        if seen % 10 == 0:
            print(f"{seen} photographs, last a {MOTHS[best]} moth ({scores[best].item():.2f}), {stands_out} stands out",
                  flush=True)


if __name__ == "__main__":
    main()
