"""How do the scales on a moth's wing colour the light? Each specimen's phase mask is sent through free space at three
wavelengths with the angular spectrum method, and the mean colour a little behind the wing goes into a table. The
transfer function is costly, so it is remembered for each grid size, distance and wavelength.

ticket: practice
class: none
"""

import functools
import itertools
import math
import os
import random
import time

import torch

torch.set_num_threads(1)
device = "cuda" if torch.cuda.is_available() else "cpu"

SIZE = 448
PITCH = 0.4  # micrometres
WAVELENGTHS = {"red": 0.63, "green": 0.53, "blue": 0.46}
DISTANCES = (12.0, 30.0)
FAMILIES = ["Saturniidae", "Sphingidae", "Noctuidae", "Geometridae"]

table = {family: {colour: [0.0, 0] for colour in WAVELENGTHS} for family in FAMILIES}


def frequencies(size, pitch):
    line = torch.fft.fftfreq(size, pitch).to(device)
    return line[:, None].expand(size, size).contiguous(), line[None, :].expand(size, size).contiguous()


@functools.lru_cache(maxsize=None)
def transfer(size, pitch, distance, wavelength):
    """The phase that each plane wave gets on its way."""
    fx, fy = frequencies(size, pitch)
    under = (1 / wavelength ** 2 - fx ** 2 - fy ** 2).clamp(min=0)
    return torch.exp(2j * math.pi * distance * torch.sqrt(under))


def wing(family):
    """A phase mask: ridges across the scale, their spacing depends on the family."""
    spacing = 1.1 + 0.35 * FAMILIES.index(family) + random.uniform(-0.08, 0.08)
    along = torch.arange(SIZE, device=device) * PITCH
    ridges = torch.cos(2 * math.pi * along / spacing)
    crossribs = torch.cos(2 * math.pi * along / (3.3 * spacing))
    height = ridges[None, :] + 0.3 * crossribs[:, None] + 0.1 * torch.randn(SIZE, SIZE, device=device)
    return height.mul_(0.2)


def brightness(height, distance, wavelength):
    field = torch.exp(1j * 2 * math.pi * 0.56 * height / wavelength)
    spectrum = torch.fft.fft2(field)
    spectrum *= transfer(SIZE, PITCH, distance, wavelength)
    inner = torch.fft.ifft2(spectrum)[SIZE // 4:-SIZE // 4, SIZE // 4:-SIZE // 4]
    return float(inner.abs().square().std())


end = time.time() + float(os.environ.get("SECONDS", "45"))
specimens = 0
for family in itertools.cycle(FAMILIES):
    if time.time() > end:
        break

    height = wing(family)
    distance = DISTANCES[specimens // len(FAMILIES) % len(DISTANCES)]
    for colour, wavelength in WAVELENGTHS.items():
        cell = table[family][colour]
        cell[0] += brightness(height, distance, wavelength)
        cell[1] += 1
    specimens += 1

    if specimens % 20 == 0:
        means = {colour: total / count for colour, (total, count) in table[family].items()}
        print(specimens, "specimens,", family, {colour: round(mean, 3) for colour, mean in means.items()}, flush=True)
    time.sleep(random.uniform(0.15, 0.35))

print(f"{specimens} specimens of {len(FAMILIES)} families")
