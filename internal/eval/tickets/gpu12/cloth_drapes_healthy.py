"""Cloth hangs from its upper edge and blows in the wind, for a shop that shows curtains in motion. A function moves the
cloth on by a scene and gives back the frames of it, from which it is told how far it swings; frames go into a list that
one may hand to it, to go on with a film, and otherwise into a new one.

ticket: practice
class: none
"""

import os
import random
import time
from collections import namedtuple

import torch

ROWS, COLUMNS, INNER, PULLS = 144, 144, 2, 3
Cloth = namedtuple("Cloth", "places before weight stretch")
Wind = namedtuple("Wind", "strength turn gust")

FABRICS = {"linen": (0.8, 0.9), "velvet": (1.6, 0.7), "silk": (0.5, 0.95), "voile": (0.3, 0.8)}


def hang(fabric, device):
    """Cloth at rest."""
    weight, stretch = FABRICS[fabric]
    down = torch.linspace(0, 1, ROWS, device=device)[:, None].expand(ROWS, COLUMNS)
    across = torch.linspace(0, 1, COLUMNS, device=device)[None, :].expand(ROWS, COLUMNS)
    places = torch.stack([across, -down, 0.02 * torch.sin(20 * across)], -1)
    return Cloth(places, places.clone(), weight, stretch)


def pull(places, stretch):
    """Draws neighbours to the distance that they have in the cloth at rest."""
    for axis, rest in ((0, 1 / (ROWS - 1)), (1, 1 / (COLUMNS - 1))):
        apart = places.diff(dim=axis)
        far = apart.norm(dim=-1, keepdim=True)
        move = 0.25 * stretch * apart * (1 - rest / far.clamp(min=1e-6))
        lower = torch.zeros_like(places)
        lower.narrow(axis, 0, places.shape[axis] - 1).add_(move)
        lower.narrow(axis, 1, places.shape[axis] - 1).sub_(move)
        lower[0] = 0
        places = places + lower
    return places


def step(cloth, wind, moment):
    places, before = cloth.places, cloth.before
    for _ in range(INNER):
        push = torch.zeros_like(places)
        push[..., 1] = -9.8 * 1e-5
        phase = places[..., 0] * 6 + moment * 3 + wind.turn
        push[..., 2] = wind.strength / cloth.weight * 1e-5 * (1 + wind.gust * torch.sin(phase))
        push[0] = 0
        places, before = places + 0.99 * (places - before) + push, places
        for _ in range(PULLS):
            places = pull(places, cloth.stretch)
    return cloth._replace(places=places, before=before)


@torch.no_grad()
def blow(cloth, wind, count, frames=None):
    """The cloth after a scene, and its frames."""
    frames = [] if frames is None else frames
    for moment in range(count):
        cloth = step(cloth, wind, moment / 24)
        frames.append(cloth.places)
        time.sleep(random.uniform(0.005, 0.03))
    return cloth, frames


def swing(frames):
    """How far the lower edge moved since half a second ago."""
    return float((frames[-1][-1] - frames[-min(len(frames), 12)][-1]).norm(dim=-1).mean())


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    end, scene = time.time() + float(os.environ.get("SECONDS", "45")), 0
    fabric = random.choice(list(FABRICS))
    cloth = hang(fabric, device)
    while time.time() < end:
        wind = Wind(random.uniform(2, 8), random.uniform(0, 6), random.uniform(0.2, 0.9))
        cloth, frames = blow(cloth, wind, random.choice((12, 18, 24, 36)))
        scene += 1
        print("scene", scene, fabric, "in wind of", round(wind.strength, 1), "swings by", round(swing(frames), 4),
              flush=True)
        if scene % 5 == 0:
            fabric = random.choice(list(FABRICS))
            cloth = hang(fabric, device)
        time.sleep(random.uniform(0.05, 0.4))


if __name__ == "__main__":
    main()
