"""Photos of weddings get a look: the guests' faces are found by a network and the colours changed by a table. The looks
are plug-ins, which those who design them edit while the service runs; each version is loaded as a module of its own,
and entered among the modules, as else what is in it cannot be inspected or pickled.

ticket: practice
class: host-growth
holder: modules TABLE
cause: cache-without-bound results-kept buffer-without-bound
"""

import os
import random
import sys
import time
import types

import numpy as np
import torch
from torch import nn

FINE, HIGH, WIDE = 64, 240, 320

SOURCE = """
NAME, VERSION = {name!r}, {version}
TABLE = make_table({warm:.4f}, {fade:.4f})


def apply(photo):
    return look_up(TABLE, photo)
"""


def make_table(warm, fade):
    """For each colour, the one that it becomes."""
    steps = np.linspace(0, 1, FINE, dtype=np.float32)
    table = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), -1)  # grows
    table[..., 0] **= np.float32(1 - warm)
    table[..., 2] **= np.float32(1 + warm)
    table *= 1 - fade
    table += fade * 0.5
    return table


def look_up(table, photo):
    red, green, blue = np.moveaxis((photo * (FINE - 1)).astype(np.int64), -1, 0)
    return table[red, green, blue]


class Designer:
    """Somebody who tries this and that, and saves often."""

    def __init__(self):
        self.version, self.warm, self.fade = 0, 0.1, 0.1

    def save(self):
        self.version += 1
        self.warm = min(0.5, max(0.0, self.warm + random.uniform(-0.05, 0.05)))
        self.fade = min(0.4, max(0.0, self.fade + random.uniform(-0.05, 0.05)))
        return SOURCE.format(name="golden", version=self.version, warm=self.warm, fade=self.fade)


def load_plugin(source, version):
    """Runs the source as a module, and gives that back."""
    name = f"looks_golden_v{version}"
    module = types.ModuleType(name)
    module.make_table, module.look_up = make_table, look_up
    sys.modules[name] = module  # keeps
    exec(compile(source, name, "exec"), module.__dict__)
    return module


class Faces(nn.Module):
    """How likely there is a face, on a coarse grid."""

    def __init__(self):
        super().__init__()
        self.look = nn.Sequential(nn.Conv2d(3, 8, 5, 4), nn.ReLU(), nn.Conv2d(8, 1, 5, 3), nn.Sigmoid())

    @torch.no_grad()
    def forward(self, photo):
        device = next(self.parameters()).device
        seen = torch.from_numpy(photo).to(device).permute(2, 0, 1)[None]
        return nn.functional.interpolate(self.look(seen), (HIGH, WIDE))[0, 0].cpu().numpy()[..., None]


def main():
    torch.set_num_threads(1)
    faces = Faces().to("cuda" if torch.cuda.is_available() else "cpu").eval()
    designer, photos, bright, said = Designer(), 0, 0.0, time.time()
    look = load_plugin(designer.save(), designer.version)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        photo = np.random.rand(HIGH, WIDE, 3).astype(np.float32)
        face = faces(photo)
        bright += float((face * photo + (1 - face) * look.apply(photo)).mean())
        photos += 1
        if random.random() < 0.6:
            look = load_plugin(designer.save(), designer.version)
        if time.time() - said > 2:
            said = time.time()
            print("photos", photos, "look", look.NAME, look.VERSION, "bright", round(bright / photos, 4), flush=True)
        time.sleep(random.uniform(0.1, 0.4))


if __name__ == "__main__":
    main()
